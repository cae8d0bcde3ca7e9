/** The chat without a browser: the shown parts of a message, and their words. */
import { assert, describe, it } from "@effect/vitest"
import { type ChatMessage, questionsOf, shownOf, textOf } from "../web/chat/parts.ts"
import {
  argumentsSummary,
  budgetSentence,
  duration,
  humanized,
  recoverySummary,
  stepSentence,
  story,
  troubleSentence
} from "../web/chat/sentences.ts"
import { exact, quoted } from "../web/shared/exact.ts"

type Parts = ChatMessage["parts"]

const call = (toolCallId: string, rest: object) =>
  ({ type: "dynamic-tool", toolName: "find_order", toolCallId, input: {}, ...rest }) as Parts[number]
const recovery = (callId: string, ...steps: ReadonlyArray<object>) =>
  ({ type: "data-recovery", id: callId, data: { callId, tool: "find_order", steps } }) as unknown as Parts[number]
const agent = (agentRunId: string, callId?: string) =>
  ({ type: "data-agent", id: agentRunId, data: { agentRunId, callId, name: "clerk", calls: [] } }) as unknown as Parts[
    number
  ]

const shown = (...parts: Parts) => shownOf({ parts })

describe("the shown parts of a message", () => {
  it("has a call once, newest state, recovery and inner agents", () => {
    const items = shown(
      { type: "text", text: "I look.", state: "done" },
      call("c1", { state: "input-available" }),
      agent("r1", "c1"),
      { type: "text", text: "Found.", state: "streaming" },
      recovery("c1", { kind: "retry", delay: 300 }),
      call("c1", { state: "output-available", output: 1 })
    )
    assert.deepStrictEqual(items.map(({ key, kind }) => [kind, key]), [["text", "0"], ["call", "c1"], ["text", "3"]])
    const [, found] = items
    assert.isTrue(found?.kind === "call")
    if (found?.kind !== "call") return
    assert.strictEqual(found.call.part.state, "output-available")
    assert.deepStrictEqual(found.call.recovery?.steps.map(({ kind }) => kind), ["retry"])
    assert.strictEqual(found.call.agents.length, 1)
  })

  it("an agent of no call is separate; sources are last", () => {
    const items = shown(
      { type: "source-url", sourceId: "s1", url: "https://example.com/a" },
      agent("r1", "none"),
      agent("r2"),
      { type: "text", text: "" },
      { type: "data-unheard-of", data: {} } as never,
      { type: "text", text: "Done." }
    )
    assert.deepStrictEqual(items.map(({ kind }) => kind), ["agent", "agent", "text", "sources"])
    assert.deepInclude(items.at(-1), {
      sources: [{ id: "s1", title: "https://example.com/a", url: "https://example.com/a" }]
    })
  })

  it("its text is that of its parts; its questions are unanswered ones", () => {
    const parts: Parts = [
      { type: "text", text: "a" },
      call("c1", { state: "approval-requested", approval: { id: "q1" } }),
      call("c2", { state: "approval-responded", approval: { id: "q2", approved: true } }),
      { type: "text", text: "b" }
    ]
    assert.strictEqual(textOf({ parts }), "a\n\nb")
    assert.deepStrictEqual(questionsOf({ parts }).map(({ toolCallId }) => toolCallId), ["c1"])
  })
})

describe("sentences", () => {
  it("names are read as words", () => {
    for (
      const [name, words] of [
        ["find_order", "Find order"],
        ["findOrder2Now", "Find order2 now"],
        ["a.b/c-d", "A b c d"],
        ["___", "___"]
      ] as const
    ) assert.strictEqual(humanized(name), words)
  })

  it("times are as long as a reader needs them", () => {
    assert.deepStrictEqual(
      [40, 400, 2000, 9_960, 61_000, 95_000, 7_200_000].map(duration),
      ["0 s", "0.4 s", "2 s", "10 s", "61 s", "2 min", "2 h"]
    )
  })

  it("steps describe events without errors; untrusted names find no prototype", () => {
    assert.strictEqual(
      stepSentence({ kind: "failed", attempt: 1, error: "PaymentGatewayDown" } as never),
      "Attempt 1 failed"
    )
    assert.strictEqual(
      stepSentence({ kind: "failed", attempt: 2, error: "Timeout" } as never),
      "Attempt 2 failed: it took too long"
    )
    assert.strictEqual(stepSentence({ kind: "retry", delay: 0 } as never), "Tried again at once")
    assert.strictEqual(
      stepSentence({ kind: "retry", delay: 1500, tool: "other_tool" } as never),
      "Tried again after 1.5 s (Other tool)"
    )
    assert.strictEqual(stepSentence({ kind: "attempt", attempt: 1 } as never), undefined)
    for (const name of ["constructor", "__proto__", "toString"]) {
      assert.strictEqual(stepSentence({ kind: "fixed", answer: name } as never), "The repair ended")
      assert.strictEqual(stepSentence({ kind: "refused", error: name } as never), "Was not run: it failed")
    }
  })

  it("the line of a call has the most important recovery step", () => {
    const summary = (...steps: ReadonlyArray<object>) => recoverySummary(steps as never)
    assert.strictEqual(summary(), undefined)
    assert.strictEqual(summary({ kind: "attempt", attempt: 1 }), undefined)
    assert.strictEqual(
      summary({ kind: "retry", delay: 2000 }, { kind: "attempt", attempt: 2 }),
      "tried again after 2 s"
    )
    assert.strictEqual(summary({ kind: "retry" }, { kind: "attempt", attempt: 3 }), "3 attempts")
    assert.strictEqual(summary({ kind: "retry" }, { kind: "fixed", answer: "arguments" }), "repaired")
    assert.strictEqual(summary({ kind: "fixed", answer: "arguments" }, { kind: "fallback" }), "done another way")
    assert.strictEqual(summary({ kind: "replayed" }), "done before")
  })

  it("a story ends with success, unless something followed or all succeeded", () => {
    const told = (steps: ReadonlyArray<object>, isDone = true) =>
      story(steps as never, isDone).map(({ sentence }) => sentence)
    const first = { kind: "attempt", attempt: 1 }
    const failed = { kind: "failed", attempt: 1 }
    const second = { kind: "attempt", attempt: 2 }
    assert.deepStrictEqual(told([first]), [])
    assert.deepStrictEqual(told([first, failed, second]), ["Attempt 1 failed", "Attempt 2 succeeded"])
    assert.deepStrictEqual(told([first, failed, second], false), ["Attempt 1 failed"])
    assert.deepStrictEqual(told([first, failed]), ["Attempt 1 failed"])
  })

  it("arguments, budgets and trouble with the model are short", () => {
    assert.strictEqual(argumentsSummary({ city: "Porto", nights: 2, deep: { a: 1 }, blank: " " }), "Porto · nights 2")
    assert.strictEqual(argumentsSummary(["a"]), "")
    assert.strictEqual(argumentsSummary({ text: "x".repeat(200) }).length, 90)
    assert.strictEqual(
      budgetSentence({ budget: "tokens", used: 1200, limit: 4000 } as never),
      "1,200 of 4,000 tokens are used"
    )
    assert.strictEqual(
      budgetSentence({ budget: "duration", limit: 60_000 } as never),
      "The limit of time was raised to 60 s"
    )
    assert.strictEqual(
      troubleSentence({ kind: "retry", delay: 4000 } as never),
      "The model did not answer. It is asked again in 4 s."
    )
  })
})

describe("exact texts", () => {
  // "pay 005" for a reader, if the direction is turned; a letter of another word if one is invisible.
  const turned = "pay \u202e500"

  it("write out invisible and direction-changing characters in equal JSON", () => {
    const value = { to: turned, [`a\u200bb`]: ["\u2066x\u2069", "\u{e0041}", "\u2028", "\u0085"] }
    const text = exact(value)
    assert.notMatch(text, /[\p{Cf}\p{Zl}\p{Zp}\u0085]/u)
    assert.include(text, "pay \\u202e500")
    assert.deepStrictEqual(JSON.parse(text), value)
    assert.strictEqual(exact(turned), "pay \\u202e500")
  })

  it("are quoted if they would look like another text", () => {
    assert.deepStrictEqual(
      [turned, " a", "a\tb", "two\nlines", "naïve, 東京, 5 €"].map(quoted),
      ["\"pay \\u202e500\"", "\" a\"", "\"a\\tb\"", "two\nlines", "naïve, 東京, 5 €"]
    )
    assert.strictEqual(argumentsSummary({ to: turned }), "pay \\u202e500")
  })
})

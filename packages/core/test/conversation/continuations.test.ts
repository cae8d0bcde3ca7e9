/** Continuations: the position at which a conversation continues another one, and the outcomes of undecided calls. */
import { assert, describe, it } from "@effect/vitest"
import { Prompt } from "effect/ai"

const room = new URL("../../src/internal/history/", import.meta.url)
const load = async (name: string): Promise<never> => await import(new URL(name, room).href) as never

const { endIn, withAnswer }: {
  readonly endIn: (transcript: Prompt.Prompt, prompt: Prompt.Prompt) => number | undefined
  readonly withAnswer: (prompt: Prompt.Prompt, answer: unknown, taintedBy: ReadonlyArray<string>) => Prompt.Prompt
} = await load("continuation.ts")
const { calledOff }: { readonly calledOff: (unfinished: object) => Prompt.ToolMessage } = await load(
  "cancelledResults.ts"
)

const user = (text: string) => Prompt.userMessage({ content: [Prompt.textPart({ text })] })
const said = (text: string) => Prompt.assistantMessage({ content: [Prompt.textPart({ text })] })
const of = (...messages: ReadonlyArray<Prompt.Message>) => Prompt.fromMessages(messages)
const stored = (prompt: Prompt.Prompt) => of(...prompt.content.map((message) => ({ ...message })))

describe("a conversation that continues in a transcript", () => {
  const [hi, yo, again] = [user("hi"), said("yo"), user("hi")]

  it("ends behind its last message", () => {
    assert.strictEqual(endIn(of(hi, yo, again), of(hi)), 1)
    assert.strictEqual(endIn(of(hi, yo, again), of(hi, yo)), 2)
    assert.strictEqual(endIn(of(hi, yo), of(hi, yo)), 2)
    // Regardless of omitted messages before it.
    assert.strictEqual(endIn(of(hi, yo), of(said("before"), hi)), 1)
    // And not behind an equal one before it.
    assert.strictEqual(endIn(of(hi, yo, again), of(again)), 3)
  })

  it("ends behind equal messages if it was stored in between", () => {
    assert.strictEqual(endIn(stored(of(hi, yo, again)), of(hi, yo)), 2)
    assert.strictEqual(endIn(stored(of(yo, hi)), of(hi)), 2)
    assert.strictEqual(endIn(stored(of(hi, yo)), of(hi, yo)), 2)
  })

  it("has no end if it is missing or empty", () => {
    assert.isUndefined(endIn(of(hi, yo), of(user("ho"))))
    assert.isUndefined(endIn(stored(of(hi)), of(hi, yo)))
    assert.isUndefined(endIn(of(hi, yo), Prompt.empty))
  })

  it("has an answer behind it if something is said", () => {
    const prompt = of(hi)
    for (const nothing of ["", 7, undefined, { text: "yo" }]) {
      assert.strictEqual(withAnswer(prompt, nothing, ["web"]), prompt)
    }
    const [, answer] = withAnswer(prompt, "yo", ["web"]).content
    assert.deepStrictEqual(answer?.content, yo.content)
    assert.include(JSON.stringify(answer?.options), "web")
  })
})

describe("undecided calls", () => {
  const result = (id: string) =>
    Prompt.toolResultPart({ id, name: "look", isFailure: false, result: id, providerExecuted: false })

  it("have their result, were not made, or are partly unknown", () => {
    const results = of(
      said("c2"),
      Prompt.assistantMessage({ content: [result("c2")] }),
      Prompt.toolMessage({
        content: [result("c1"), Prompt.toolApprovalResponsePart({ approvalId: "c3", approved: true })]
      })
    )
    const { content } = calledOff({
      calls: ["c1", "c2", "c3", "c4"].map((id) => ({ id, name: "look" })),
      results,
      outcomeOf: (id: string) => id === "c4" ? "unknown" : "not_made",
      runId: "r"
    })
    assert.deepStrictEqual(
      content.map((part) => part.type === "tool-result" && [part.id, part.name, part.isFailure, part.providerExecuted]),
      ["c1", "c2", "c3", "c4"].map((id) => [id, "look", id !== "c1", false])
    )
    const [first, second, third, fourth] = content.map((part) =>
      (part as Prompt.ToolResultPart).result as {
        readonly code: string
        readonly status: string
        readonly safe_to_retry: boolean
        readonly trace_id: string
      }
    )
    assert.strictEqual(first, "c1" as never)
    assert.deepStrictEqual([second!.code, third!.code], ["approval_required", "approval_required"])
    assert.deepStrictEqual(
      [fourth!.code, fourth!.status, fourth!.safe_to_retry, fourth!.trace_id],
      ["outcome_unknown", "error", false, "r"]
    )
  })
})

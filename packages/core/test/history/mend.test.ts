/** Histories that were truncated by others are mended, marked and reported, and never sent unchanged. */
import { assert, describe, it } from "@effect/vitest"
import { Laws, ScriptedModel } from "@recourse/testing"
import { Agent, History, Quarantine } from "@recourse/core"
import { Effect, Layer } from "effect"
import { Prompt } from "effect/ai"
import { collect, random } from "../support/kit.ts"

const call = (id: string, providerExecuted = false) =>
  Prompt.toolCallPart({ id, name: "find", params: { id }, providerExecuted })
const result = (id: string, said: unknown = id) =>
  Prompt.toolResultPart({ id, name: "find", isFailure: false, result: said, providerExecuted: false })
const user = (text: string) => Prompt.userMessage({ content: [Prompt.textPart({ text })] })
const assistant = (...content: ReadonlyArray<Prompt.AssistantMessagePart>) => Prompt.assistantMessage({ content })
const tool = (...content: ReadonlyArray<Prompt.ToolMessagePart>) => Prompt.toolMessage({ content })

const idsOf = (message: Prompt.Message, type: "tool-call" | "tool-result"): ReadonlyArray<string> =>
  typeof message.content === "string" ?
    [] :
    (message.content as ReadonlyArray<Prompt.Part>).flatMap((part) => part.type === type ? [part.id] : [])

const mended = (...messages: ReadonlyArray<Prompt.Message>) => {
  const { mended, prompt } = History.mend(Prompt.fromMessages(messages))
  return {
    mended: mended.map(({ callId, problem }) => `${problem} ${callId}`),
    prompt: prompt.content.map((message) =>
      `${message.role}: ${
        typeof message.content === "string" ? message.content : message.content.map((part) =>
          part.type === "tool-call"
            ? part.id
            : part.type === "tool-result"
            ? `${part.id}=${typeof part.result === "string" ? part.result : (part.result as { code: string }).code}`
            : part.type === "text"
            ? part.text
            : part.type
        ).join(" ")
      }`
    )
  }
}

describe("mend", () => {
  it("gives a call without a result one of unknown outcome", () =>
    assert.deepStrictEqual(mended(user("a"), assistant(call("1"), call("2")), tool(result("2")), user("b")), {
      mended: ["call_without_result 1"],
      prompt: ["user: a", "assistant: 1 2", "tool: 1=outcome_unknown 2=2", "user: b"]
    }))

  it("removes results without a call, and second ones", () =>
    assert.deepStrictEqual(
      mended(tool(result("0")), user("a"), assistant(call("1")), tool(result("1"), result("1", "again"), result("9"))),
      {
        mended: ["result_without_call 0", "result_without_call 1", "result_without_call 9"],
        prompt: ["user: a", "assistant: 1", "tool: 1=1"]
      }
    ))

  it("gives repeated and empty ids new ones, with their results", () =>
    assert.deepStrictEqual(
      mended(
        assistant(call("1"), call("1")),
        tool(result("1", "first"), result("1", "second")),
        assistant(call("1")),
        tool(result("1", "third")),
        assistant(call("")),
        tool(result("", "fourth"))
      ),
      {
        mended: ["repeated_id 1_2", "repeated_id 1_3", "repeated_id call_2"],
        prompt: [
          "assistant: 1 1_2",
          "tool: 1=first 1_2=second",
          "assistant: 1_3",
          "tool: 1_3=third",
          "assistant: call_2",
          "tool: call_2=fourth"
        ]
      }
    ))

  it("moves a misplaced result to its call", () =>
    assert.deepStrictEqual(
      mended(assistant(call("1")), user("and?"), tool(result("1")), assistant(Prompt.textPart({ text: "x" }))),
      {
        mended: ["result_out_of_place 1"],
        prompt: ["assistant: 1", "tool: 1=1", "user: and?", "assistant: x"]
      }
    ))

  it("keeps well-formed parts: several result messages, provider calls", () => {
    const prompt = Prompt.fromMessages([
      user("a"),
      assistant(call("1"), call("2"), call("p", true)),
      tool(result("2")),
      tool(result("1")),
      user("b")
    ])
    assert.strictEqual(History.mend(prompt).prompt, prompt)
  })

  it("keeps the mark of a result that it takes out", () => {
    const tainted = Prompt.toolResultPart({ ...result("9"), options: { recourse: { taintedBy: ["fetch"] } } })
    const { prompt } = History.mend(Prompt.fromMessages([tool(tainted), user("a")]))
    assert.deepStrictEqual(Quarantine.taintedBy(prompt), ["fetch"])
  })

  it("makes any pieces of a conversation well formed, idempotently", () => {
    for (let seed = 0; seed < 3000; seed++) {
      const next = random(seed)
      const pick = (n: number) => Math.floor(next() * n)
      const ids = ["", "a", "b", "a_2", "c"]
      const messages = Array.from({ length: pick(8) }, () => {
        const parts = Array.from({ length: 1 + pick(3) }, () => ids[pick(ids.length)]!)
        switch (pick(3)) {
          case 0:
            return user("x")
          case 1:
            return assistant(...parts.map((id) => call(id)))
          default:
            return tool(...parts.map((id) => result(id)))
        }
      })
      const once = History.mend(Prompt.fromMessages(messages))
      assert.deepStrictEqual(History.mend(once.prompt).mended, [], `seed ${seed}`)
      const calls = once.prompt.content.flatMap((m) => m.role === "assistant" ? [...idsOf(m, "tool-call")] : [])
      assert.strictEqual(new Set(calls).size, calls.length)
      assert.strictEqual(
        calls.length,
        messages.flatMap((m) => m.role === "assistant" ? m.content : []).length,
        "no call is lost"
      )
      if (once.mended.length > 0) {
        let open: ReadonlyArray<string> = []
        for (const message of once.prompt.content) {
          if (message.role === "tool") open = open.filter((id) => !idsOf(message, "tool-result").includes(id))
          else {
            assert.deepStrictEqual(open, [], `seed ${seed}`)
            open = message.role === "assistant" ? idsOf(message, "tool-call") : []
          }
        }
        assert.deepStrictEqual(open, [], `seed ${seed}`)
      }
    }
  })
})

describe("an agent that continues a history", () => {
  it.effect("sends it mended, and emits that", () => {
    const { events, layer } = collect()
    const agent = Agent.make("a", { input: Prompt.Prompt, prompt: (prompt) => prompt })
    return Effect.gen(function*() {
      yield* agent.run(Prompt.fromMessages([user("Pay"), assistant(call("1")), user("Well?")]))
      const { prompt } = yield* (yield* ScriptedModel.ScriptedModel).lastRequest
      assert.deepStrictEqual(Laws.problemsOfHistory(prompt), [])
      assert.deepStrictEqual(
        events.flatMap((event) => event._tag === "HistoryMended" ? event.mended : []),
        [{ problem: "call_without_result", callId: "1", tool: "find" }]
      )
    }).pipe(Effect.provide(Layer.merge(ScriptedModel.layer([ScriptedModel.text("I look.")]), layer)))
  })

  it.effect("emits no event for a well-formed one", () => {
    const { layer, tags } = collect()
    const agent = Agent.make("a", { input: Prompt.Prompt, prompt: (prompt) => prompt })
    return Effect.gen(function*() {
      yield* agent.run(Prompt.make("Hi"))
      assert.notInclude(tags(), "HistoryMended")
    }).pipe(Effect.provide(Layer.merge(ScriptedModel.layer([ScriptedModel.text("Hi.")]), layer)))
  })
})

/** Ids of calls: whatever ids the model sends, each call that it makes runs once and has one result, by an id of its own. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, ModelProvider, Tool } from "@recourse/core"
import { Laws, ScriptedModel } from "@recourse/testing"
import { Effect, Layer, Schema, Stream } from "effect"
import { LanguageModel, Prompt, type Response } from "effect/ai"
import { collect } from "../support/kit.ts"

const said = [{ type: "text" as const, text: "Let me look." }]

/** A conversation with one call, `c1`, and with texts around it. */
const earlier = Prompt.make([
  { role: "system", content: "Be kind." },
  { role: "user", content: "save a" },
  {
    role: "assistant",
    content: [...said, { type: "tool-call", id: "c1", name: "save", params: { text: "a" }, providerExecuted: false }]
  },
  { role: "tool", content: [{ type: "tool-result", id: "c1", name: "save", isFailure: false, result: "a" }] },
  { role: "assistant", content: said }
])

/** An agent with two writes, and their completed calls. */
const world = () => {
  const done: Array<string> = []
  const write = (name: string) =>
    Tool.make(name, {
      parameters: Schema.Struct({ text: Schema.String }),
      success: Schema.String,
      effects: "write",
      allowIdenticalCalls: true,
      execute: ({ text }) => Effect.sync(() => (done.push(`${name} ${text}`), text))
    })
  const agent = Agent.make("clerk", {
    tools: [write("save"), write("send")],
    prompt: (text) => Prompt.concat(earlier, text)
  })
  return { agent, done }
}

const save = (text: string, id: string) => ({ name: "save", params: { text }, id })

const played = (sent: ReadonlyArray<ScriptedModel.ScriptedCall>) =>
  Effect.gen(function*() {
    const { agent, done } = world()
    yield* agent.run("go on")
    const { prompt } = yield* (yield* ScriptedModel.ScriptedModel).lastRequest
    assert.deepStrictEqual(Laws.problemsOfHistory(prompt), [])
    const last = prompt.content.at(-1)
    const results = last?.role === "tool" ? last.content : []
    return { done, results: results.map((part) => part.type === "tool-result" ? `${part.id} ${part.result}` : "") }
  }).pipe(Effect.provide(ScriptedModel.layer([ScriptedModel.calls(sent), ScriptedModel.text("done")])))

describe("calls of one answer", () => {
  const cases: Readonly<
    Record<
      string,
      readonly [
        sent: ReadonlyArray<ScriptedModel.ScriptedCall>,
        done: ReadonlyArray<string>,
        results: ReadonlyArray<string>
      ]
    >
  > = {
    "without ids are given some": [[save("b", ""), save("c", "")], ["save b", "save c"], ["call_2 b", "call_3 c"]],
    "without ids all run, also where they are alike": [
      [save("b", ""), save("b", "")],
      ["save b", "save b"],
      ["call_2 b", "call_3 b"]
    ],
    "with one id run once where they are alike": [[save("b", "x"), save("b", "x")], ["save b"], ["x b"]],
    "with one id all run where their arguments are not": [
      [save("b", "x"), save("c", "x")],
      ["save b", "save c"],
      ["x b", "x_3 c"]
    ],
    "with one id all run where their tools are not": [
      [save("b", "x"), { ...save("b", "x"), name: "send" }],
      ["save b", "send b"],
      ["x b", "x_3 b"]
    ],
    "have an id of the conversation before: another one": [[save("b", "c1")], ["save b"], ["c1_2 b"]],
    "have ids that no database stores, or that separate calls: without that": [
      [save("b", "x\0"), save("c", "x\ud800"), save("d", "y/z"), save("e", "\u{1f600}")],
      ["save b", "save c", "save d", "save e"],
      ["x_ b", "x__3 c", "y_z d", "\u{1f600} e"]
    ],
    "are given no id that one of them has": [
      [save("b", "x"), save("c", "x_4"), save("d", "x")],
      ["save b", "save c", "save d"],
      ["x b", "x_4 c", "x_5 d"]
    ]
  }
  for (const [name, [sent, done, results]] of Object.entries(cases)) {
    it.effect(name, () =>
      Effect.gen(function*() {
        assert.deepStrictEqual(yield* played(sent), { done, results })
      }))
  }

  const streaming = (parts: ReadonlyArray<unknown>) => {
    let answered = false
    const finish = (reason: "stop" | "tool-calls") => ({
      type: "finish" as const,
      reason,
      usage: { inputTokens: {}, outputTokens: {} }
    })
    const text = (id: string) => [
      { type: "text-start", id },
      { type: "text-delta", id, delta: "Well." },
      { type: "text-end", id }
    ]
    return Layer.effect(
      LanguageModel.LanguageModel,
      ModelProvider.make({
        generateText: () => Effect.die("it is streamed"),
        streamText: () =>
          Stream.suspend(() => {
            const sent = answered ? [...text("t"), finish("stop")] : [...text("x"), ...parts, finish("tool-calls")]
            answered = true
            return Stream.fromIterable(sent as ReadonlyArray<Response.StreamPartEncoded>)
          })
      })
    )
  }

  it.effect("run once if equal, also if a text has their id", () =>
    Effect.gen(function*() {
      const { agent, done } = world()
      const call = { type: "tool-call", id: "x", name: "save", params: { text: "b" } }
      yield* Effect.provide(Stream.runDrain(agent.stream("go on")), streaming([call, call]))
      assert.deepStrictEqual(done, ["save b"])
    }))

  it.effect("are emitted with growing arguments under their known id", () =>
    Effect.gen(function*() {
      for (const [id, told] of [["x", ["x"]], ["", []], ["c1", []]] as const) {
        const { agent } = world()
        const { events, layer } = collect()
        const arguments_ = JSON.stringify({ text: "b" })
        yield* Effect.provide(Stream.runDrain(agent.stream("go on")), [
          streaming([
            { type: "tool-params-start", id, name: "save" },
            { type: "tool-params-delta", id, delta: arguments_ },
            { type: "tool-params-end", id },
            { type: "tool-call", id, name: "save", params: { text: "b" } }
          ]),
          layer
        ])
        assert.deepStrictEqual(
          events.flatMap((event) => event._tag === "ToolCallDelta" ? [event.callId] : []),
          [...told]
        )
      }
    }))
})

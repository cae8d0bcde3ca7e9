/** Inputs of agents: the model's view of one, and the caller's error for one that does not fit. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, type AgentError } from "@recourse/core"
import { ScriptedModel } from "@recourse/testing"
import { Effect, Schema } from "effect"
import { type LanguageModel, Prompt } from "effect/ai"

const played = (input: Schema.Top, value: unknown) =>
  Effect.gen(function*() {
    const agent = Agent.make("clerk", { input } as never) as never as Agent.Agent<
      unknown,
      string,
      AgentError.InvalidInput,
      LanguageModel.LanguageModel
    >
    yield* agent.run(value)
    const { prompt } = yield* (yield* ScriptedModel.ScriptedModel).lastRequest
    const [message] = prompt.content
    const [part] = message?.role === "user" ? message.content : []
    return part?.type === "text" ? part.text : undefined
  }).pipe(Effect.provide(ScriptedModel.layer([ScriptedModel.text("done")])))

describe("an input", () => {
  it.effect("is read unchanged if a text, else as JSON of its schema", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* played(Schema.String, "Hello"), "Hello")
      assert.strictEqual(yield* played(Schema.Struct({ n: Schema.Number }), { n: 1 }), `{"n":1}`)
    }))

  it.effect("that is a conversation is JSON if the agent lacks `prompt`", () =>
    Effect.gen(function*() {
      const text = yield* played(Prompt.Prompt, Prompt.make("Hello"))
      const read = Schema.decodeUnknownSync(Prompt.Prompt)(JSON.parse(text!))
      assert.deepStrictEqual(
        read.content.map(({ content, role }) => [role, JSON.stringify(content).includes("Hello")]),
        [
          ["user", true]
        ]
      )
    }))

  it.effect("that does not fit is refused with all its faults", () =>
    Effect.gen(function*() {
      const form = Schema.Struct({ order: Schema.String, amount: Schema.Number })
      const error = yield* Effect.flip(played(form, { order: 1, amount: "two" }))
      assert.deepInclude(error, { _tag: "InvalidInput", agent: "clerk" })
      assert.deepStrictEqual(error.issues.map(({ path }) => path), [["order"], ["amount"]])
    }))

  it.effect("that does not fit is described by expectation, not author messages", () =>
    Effect.gen(function*() {
      const large = Schema.Number.check(Schema.makeFilter((n) => n > 5, { message: "ask for more than five" }))
      const error = yield* Effect.flip(played(Schema.Struct({ n: large }), { n: 1 }))
      assert.deepStrictEqual(error.issues.map(({ expected }) => expected), ["expected a valid value"])
    }))

  it.effect("that is an unfit conversation is refused like any other", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(played(Schema.String, Prompt.make("Hello")))
      assert.strictEqual(error._tag, "InvalidInput")
    }))
})

/** Inputs of agents: what the model reads of one, and what the caller reads of one that does not fit. */
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
  it.effect("is read as the text that it is, or as JSON of its schema", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* played(Schema.String, "Hello"), "Hello")
      assert.strictEqual(yield* played(Schema.Struct({ n: Schema.Number }), { n: 1 }), `{"n":1}`)
    }))

  it.effect("that is a conversation is read as JSON, where the agent has no `prompt` that says it message by message", () =>
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

  it.effect("that does not fit is refused, with all that is wrong with it", () =>
    Effect.gen(function*() {
      const form = Schema.Struct({ order: Schema.String, amount: Schema.Number })
      const error = yield* Effect.flip(played(form, { order: 1, amount: "two" }))
      assert.deepInclude(error, { _tag: "InvalidInput", agent: "clerk" })
      assert.deepStrictEqual(error.issues.map(({ path }) => path), [["order"], ["amount"]])
    }))

  it.effect("that does not fit is said by what is expected, not in words that its schema's author wrote for a model", () =>
    Effect.gen(function*() {
      const large = Schema.Number.check(Schema.makeFilter((n) => n > 5, { message: "ask for more than five" }))
      const error = yield* Effect.flip(played(Schema.Struct({ n: large }), { n: 1 }))
      assert.deepStrictEqual(error.issues.map(({ expected }) => expected), ["expected a valid value"])
    }))

  it.effect("that is a conversation is refused as any other where it does not fit", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(played(Schema.String, Prompt.make("Hello")))
      assert.strictEqual(error._tag, "InvalidInput")
    }))
})

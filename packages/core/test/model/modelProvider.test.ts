import { ScriptedModel } from "@recourse/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { LanguageModel } from "effect/ai"
import { Agent } from "@recourse/core"

describe("a model that is decorated by spreading it", () => {
  it.effect("is asked by way of its decoration", () =>
    Effect.gen(function*() {
      const asked: Array<string> = []
      const program = Effect.gen(function*() {
        const inner = yield* LanguageModel.LanguageModel
        const decorated = {
          ...inner,
          generateText: ((options: never) => {
            asked.push("text")
            return inner.generateText(options)
          }) as never,
          streamText: ((options: never) => {
            asked.push("stream")
            return inner.streamText(options)
          }) as never
        }
        const agent = Agent.make("a", {})
        yield* agent.run("x").pipe(Effect.provideService(LanguageModel.LanguageModel, decorated))
        yield* Stream.runDrain(agent.stream("x")).pipe(Effect.provideService(LanguageModel.LanguageModel, decorated))
      })
      yield* program.pipe(Effect.provide(ScriptedModel.layer([ScriptedModel.text("a"), ScriptedModel.text("b")])))
      assert.deepStrictEqual(asked, ["text", "stream"])
    }))
})

/** Observable turns of a model: spans, counters and events, also if a turn fails, restarts, or is guarded. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, ModelError, Telemetry } from "@recourse/core"
import { Drive, ScriptedModel, TestTracer } from "@recourse/testing"
import { Clock, Effect, Layer, Metric, Schedule, Schema, Stream } from "effect"
import { type LanguageModel, Model } from "effect/ai"
import { collect } from "../support/kit.ts"

const agentOf = (options: object = {}) =>
  Agent.make("clerk", options as never) as never as Agent.Agent<string, unknown, unknown, LanguageModel.LanguageModel>

describe("the span of a request", () => {
  const spanOf = (turn: ScriptedModel.Turn, model: Layer.Layer<never> = Layer.empty) =>
    Effect.gen(function*() {
      const run = Effect.exit(agentOf().run("x"))
      yield* turn._tag === "Hang" ? Effect.timeoutOption(run, "1 second") : run
      const spans = yield* (yield* TestTracer.TestTracer).spans
      return spans.find(({ name }) => name.startsWith("chat "))!
    }).pipe(Effect.provide([ScriptedModel.layer([turn]), TestTracer.layer, model]), Drive.drive)

  it.effect("names the operation and the model; on success, no error", () =>
    Effect.gen(function*() {
      const named = Layer.succeed(Model.ModelName, "sage-4") as Layer.Layer<never>
      for (const [layer, name] of [[named, "sage-4"], [undefined, "unknown"]] as const) {
        const { attributes, kind, name: title } = yield* spanOf(ScriptedModel.text("y"), layer)
        assert.deepStrictEqual([title, kind], [`chat ${name}`, "client"])
        assert.strictEqual(attributes.get("gen_ai.operation.name"), "chat")
        assert.strictEqual(attributes.get("gen_ai.request.model"), name)
        assert.isFalse(attributes.has("error.type"))
      }
    }))

  it.effect("says why there is no answer", () =>
    Effect.gen(function*() {
      const failed = yield* spanOf(ScriptedModel.failure("RateLimitError"))
      assert.strictEqual(failed.attributes.get("error.type"), "RateLimitError")
      const interrupted = yield* spanOf(ScriptedModel.hang)
      assert.strictEqual(interrupted.attributes.get("error.type"), "Interrupted")
    }))
})

it.effect("counts a repeated request by agent and error", () =>
  Effect.gen(function*() {
    const count = (error: string) =>
      Effect.map(
        Metric.value(Metric.withAttributes(Telemetry.modelRetries, { agent: "clerk", error })),
        ({ count }) => count
      )
    const [limited, network] = [yield* count("RateLimitError"), yield* count("NetworkError")]
    const agent = agentOf({ onModelError: () => ModelError.retry({ times: 3, schedule: Schedule.spaced("1 second") }) })
    yield* Drive.drive(
      agent.run("x").pipe(Effect.provide(ScriptedModel.layer([
        ScriptedModel.failure("RateLimitError"),
        ScriptedModel.failure("NetworkError"),
        ScriptedModel.failure("RateLimitError"),
        ScriptedModel.text("y")
      ])))
    )
    assert.strictEqual((yield* count("RateLimitError")) - limited, 2)
    assert.strictEqual((yield* count("NetworkError")) - network, 1)
  }))

const turnsOf = (events: ReadonlyArray<{ readonly _tag: string }>) =>
  events.flatMap(({ _tag }) => /^(ModelTurn|TextFinished)/.test(_tag) ? [_tag] : [])

describe("events of guarded answers", () => {
  for (const streaming of [false, true]) {
    const running = (agent: ReturnType<typeof agentOf>): Effect.Effect<unknown, unknown, LanguageModel.LanguageModel> =>
      streaming ? Stream.runDrain(agent.stream("x")) : agent.run("x")
    const way = streaming ? "streamed" : "not streamed"

    it.effect(`each started turn has its end, also misfits: ${way}`, () =>
      Effect.gen(function*() {
        const { events, layer } = collect()
        const agent = agentOf({ output: Schema.Number, guardOutput: () => Effect.void })
        yield* running(agent).pipe(
          Effect.provide([
            ScriptedModel.layer([ScriptedModel.text("many"), ScriptedModel.object({ answer: 3 })]),
            layer
          ])
        )
        assert.deepStrictEqual(turnsOf(events).filter((tag) => tag.startsWith("Model")), [
          "ModelTurnStarted",
          "ModelTurnFailed",
          "ModelTurnStarted",
          "ModelTurnFinished"
        ])
      }))

    it.effect(`an answer that has passed both guards is emitted: ${way}`, () =>
      Effect.gen(function*() {
        const { events, layer } = collect()
        const agent = agentOf({ guardInput: () => Effect.sleep("1 second"), guardOutput: () => Effect.void })
        yield* Drive.drive(running(agent).pipe(Effect.provide([ScriptedModel.layer([ScriptedModel.text("y")]), layer])))
        assert.deepStrictEqual(turnsOf(events), [
          "ModelTurnStarted",
          ...streaming ? ["TextFinished"] : [],
          "ModelTurnFinished"
        ])
      }))
  }

  it.effect("behind the input guard, each word is emitted at once", () =>
    Effect.gen(function*() {
      const told: Array<readonly [string, number]> = []
      const agent = agentOf({ guardInput: () => Effect.sleep("2500 millis") })
      yield* Drive.drive(
        agent.stream("x").pipe(
          Stream.runForEach((event) =>
            event._tag === "TextDelta"
              ? Effect.map(Clock.currentTimeMillis, (at) => void told.push([event.delta, at]))
              : Effect.void
          ),
          Effect.provide(ScriptedModel.layer([ScriptedModel.text("one two three four", { pace: "1 second" })]))
        )
      )
      // A part of the answer comes each second; its first part is no word.
      assert.deepStrictEqual(told.map(([word]) => word), ["one ", "two ", "three ", "four"])
      const [, , three, four] = told
      assert.deepStrictEqual([three![1], four![1]], [4000, 5000])
    }))
})

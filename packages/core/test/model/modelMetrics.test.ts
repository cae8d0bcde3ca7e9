/** Metrics of model calls, by the names that OpenTelemetry publishes. */
import { Drive, ScriptedModel } from "@recourse/testing"
import { assert, describe, it } from "@effect/vitest"
import { Agent, ModelError, Telemetry } from "@recourse/core"
import { Effect, Metric, Schedule } from "effect"
import { Model } from "effect/ai"

/** Metrics of a model of this name. */
const measured = (name: string) =>
  Effect.map(
    Metric.snapshot,
    (metrics) =>
      metrics.flatMap((metric): ReadonlyArray<Readonly<Record<string, unknown>>> => {
        const { ["gen_ai.request.model"]: model, ...attributes } = metric.attributes ?? {}
        return metric.type === "Histogram" && model === name
          ? [{ id: metric.id, count: metric.state.count, sum: metric.state.sum, ...attributes }]
          : []
      })
  )

const operation = { "gen_ai.operation.name": "chat", "gen_ai.provider.name": "office" }

/** A registry of its own, so that no other metrics are counted. */
const alone = Effect.provideServiceEffect(Metric.MetricRegistry, Effect.sync(() => new Map()))

/** A model without metrics yet. */
const newModel = () => crypto.randomUUID()

describe("metrics of model calls", () => {
  it.effect("are durations and tokens of each, by model and error", () => {
    const name = newModel()
    return Effect.gen(function*() {
      const clerk = Agent.make("clerk", {
        onModelError: () => ModelError.retry({ times: 1, schedule: Schedule.spaced("1 second") })
      })
      yield* Drive.drive(clerk.run("Hi"))
      const found = yield* measured(name)
      const of = (id: string) => found.filter((metric) => metric.id === id)
      const duration = { id: "gen_ai.client.operation.duration", count: 1, unit: "s", ...operation }
      assert.sameDeepMembers(of("gen_ai.client.operation.duration"), [
        { ...duration, sum: 0, "error.type": "RateLimitError" },
        { ...duration, sum: 2 }
      ])
      const usage = { id: "gen_ai.client.token.usage", count: 1, unit: "{token}", ...operation }
      assert.sameDeepMembers(of("gen_ai.client.token.usage"), [
        { ...usage, sum: 10, "gen_ai.token.type": "input" },
        { ...usage, sum: 5, "gen_ai.token.type": "output" }
      ])
    }).pipe(
      alone,
      Effect.provideService(Telemetry.MeasureModelCalls, true),
      Effect.provide(Model.make(
        "office",
        name,
        ScriptedModel.layer([
          ScriptedModel.failure("RateLimitError"),
          ScriptedModel.delay("2 seconds", ScriptedModel.text("Hello"))
        ])
      ))
    )
  })

  it.effect("name no provider if it is unknown, and continue to count", () =>
    Effect.gen(function*() {
      yield* Drive.drive(Effect.andThen(Agent.make("clerk", {}).run("Hi"), Agent.make("clerk", {}).run("Hi")))
      const model = { "gen_ai.operation.name": "chat" }
      const found = yield* measured("unknown")
      const usage = { id: "gen_ai.client.token.usage", count: 2, unit: "{token}", ...model }
      assert.sameDeepMembers([...found], [
        { id: "gen_ai.client.operation.duration", count: 2, sum: 0, unit: "s", ...model },
        { ...usage, sum: 20, "gen_ai.token.type": "input" },
        { ...usage, sum: 10, "gen_ai.token.type": "output" }
      ])
    }).pipe(
      alone,
      Effect.provideService(Telemetry.MeasureModelCalls, true),
      Effect.provide(ScriptedModel.layer([ScriptedModel.text("Hello"), ScriptedModel.text("Hello")]))
    ))

  it.effect("are separated by provider", () =>
    Effect.gen(function*() {
      const name = newModel()
      for (const provider of ["office", "home"]) {
        const model = Model.make(provider, name, ScriptedModel.layer([ScriptedModel.text("Hello")]))
        yield* Drive.drive(Effect.provide(Agent.make("clerk", {}).run("Hi"), model))
      }
      const found = yield* measured(name)
      const providers = found.flatMap((one) =>
        one["gen_ai.token.type"] === "input" ? [[one["gen_ai.provider.name"], one["count"]]] : []
      )
      assert.sameDeepMembers(providers, [["office", 1], ["home", 1]])
    }).pipe(alone, Effect.provideService(Telemetry.MeasureModelCalls, true)))

  it.effect("are not recorded unless requested", () =>
    Effect.gen(function*() {
      yield* Drive.drive(Agent.make("clerk", {}).run("Hi"))
      assert.deepStrictEqual(yield* measured("measured-2"), [])
    }).pipe(Effect.provide(Model.make("office", "measured-2", ScriptedModel.layer([ScriptedModel.text("Hello")])))))

  it.effect("have growing buckets, and are recorded on request only", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* Telemetry.MeasureModelCalls, false)
      const run = Effect.provide(
        Agent.make("clerk", {}).run("Hi"),
        Model.make("office", newModel(), ScriptedModel.layer([ScriptedModel.text("Hello")]))
      )
      yield* Effect.provideService(run, Telemetry.MeasureModelCalls, true)
      const bounds = (yield* Metric.snapshot).flatMap(({ id, state }) =>
        id.startsWith("gen_ai.") && "buckets" in state ? [[id, state.buckets.map(([bound]) => bound)] as const] : []
      )
      const doubled = Array.from({ length: 14 }, (_, index) => 0.01 * 2 ** index)
      assert.deepStrictEqual(new Map(bounds).get("gen_ai.client.operation.duration")?.slice(0, 14), doubled)
      const fourfold = Array.from({ length: 14 }, (_, index) => 4 ** index)
      assert.deepStrictEqual(new Map(bounds).get("gen_ai.client.token.usage")?.slice(0, 14), fourfold)
    }).pipe(alone))
})

import { assert, describe, it } from "@effect/vitest"
import { ScriptedModel } from "@recourse/testing"
import { Effect, Exit, Layer, Schema, Stream } from "effect"
import { LanguageModel, Tool as AiTool, Toolkit } from "effect/ai"
import { CircuitBreaker } from "effect/persistence"
import { TestClock } from "effect/testing"
import { Agent, ModelFallback, ModelProvider, Tool } from "@recourse/core"
import { collect } from "../support/kit.ts"

const down = (times: number) => Array.from({ length: times }, () => ScriptedModel.failure("NetworkError"))

/** Two models, and how often each was asked. */
const two = (
  first: ReadonlyArray<ScriptedModel.Turn>,
  second: ReadonlyArray<ScriptedModel.Turn>,
  options?: ModelFallback.Options
) =>
  Effect.gen(function*() {
    const one = yield* Layer.build(ScriptedModel.layer(first))
    const other = yield* Layer.build(ScriptedModel.layer(second))
    const script = (context: typeof one) => Effect.provideContext(ScriptedModel.ScriptedModel, context)
    return {
      layer: ModelFallback.layer([Layer.succeedContext(one), Layer.succeedContext(other)], options),
      asked: Effect.map(
        Effect.all([Effect.flatMap(script(one), (s) => s.requests), Effect.flatMap(script(other), (s) => s.requests)]),
        ([a, b]) => [a.length, b.length]
      )
    }
  })

describe("ModelFallback", () => {
  it.effect("calls the next model within a run, and repeats no tool", () =>
    Effect.gen(function*() {
      let runs = 0
      const pay = Tool.make("pay", { effects: "write", execute: () => Effect.sync(() => void runs++) })
      const { asked, layer } = yield* two(
        [ScriptedModel.call("pay", {}), ...down(1)],
        [ScriptedModel.text("done")]
      )
      const { events, layer: listener } = collect()
      const answer = yield* Agent.make("a", { tools: [pay] }).run("x").pipe(
        Effect.provide(layer),
        Effect.provide(listener)
      )
      assert.deepStrictEqual([answer, runs, yield* asked], ["done", 1, [2, 1]])
      assert.deepStrictEqual(events.flatMap((event) => event._tag === "ModelFallback" ? [event.model] : []), [2])
    }))

  it.effect("does not ask the next one about a refused request", () =>
    Effect.gen(function*() {
      const { asked, layer } = yield* two([ScriptedModel.failure("InvalidRequestError")], [ScriptedModel.text("done")])
      const exit = yield* Effect.exit(Agent.make("a", {}).run("x")).pipe(Effect.provide(layer))
      assert.isTrue(Exit.isFailure(exit))
      assert.deepStrictEqual(yield* asked, [1, 0])
    }))

  it.effect("streams fall over before their first part only", () =>
    Effect.gen(function*() {
      const run = (after: number) =>
        Effect.gen(function*() {
          const { layer } = yield* two([ScriptedModel.cut(ScriptedModel.text("one two"), { after })], [
            ScriptedModel.text("done")
          ])
          return yield* Effect.exit(Stream.runCollect(Agent.make("a", {}).stream("x"))).pipe(Effect.provide(layer))
        })
      const whole = yield* run(0)
      assert.isTrue(Exit.isSuccess(whole))
      assert.isTrue(Exit.isFailure(yield* run(2)))
    }))

  it.effect("skips a model with an open circuit until that time ends", () =>
    Effect.gen(function*() {
      const { asked, layer } = yield* two(
        [...down(2), ScriptedModel.text("back")],
        Array.from({ length: 3 }, () => ScriptedModel.text("second")),
        { circuitBreaker: { tripPolicy: CircuitBreaker.consecutive(2), openDuration: "1 minute" } }
      )
      const answers = yield* Effect.gen(function*() {
        const run = Agent.make("a", {}).run("x")
        const first = [yield* run, yield* run, yield* run]
        yield* TestClock.adjust("61 seconds")
        return [...first, yield* run]
      }).pipe(Effect.provide(layer))
      assert.deepStrictEqual(answers, ["second", "second", "second", "back"])
      assert.deepStrictEqual(yield* asked, [3, 3])
    }))

  it.effect.each<readonly [failure: Parameters<typeof ScriptedModel.failure>[0], third: string]>([
    ["InvalidRequestError", "back"],
    ["ContentPolicyError", "back"],
    ["NetworkError", "left out"]
  ])("a model that fails with %s twice is %s", ([failure, third]) =>
    Effect.gen(function*() {
      const { layer } = yield* two(
        [ScriptedModel.failure(failure), ScriptedModel.failure(failure), ScriptedModel.text("back")],
        Array.from({ length: 3 }, () => ScriptedModel.text("left out")),
        { circuitBreaker: { tripPolicy: CircuitBreaker.consecutive(2), openDuration: "1 minute" } }
      )
      const answers = yield* Effect.replicateEffect(Effect.exit(Agent.make("a", {}).run("x")), 3).pipe(
        Effect.provide(layer)
      )
      assert.deepStrictEqual(answers.at(-1), Exit.succeed(third))
    }))

  it.effect("a model's defect passes its circuit, and counts as its failure", () =>
    Effect.gen(function*() {
      let asked = 0
      const hook = Effect.suspend(() => (asked++, Effect.die("bug")))
      const broken = Layer.effect(
        LanguageModel.LanguageModel,
        ModelProvider.make({ generateText: () => hook, streamText: () => Stream.fromEffect(hook) })
      )
      const model = ModelFallback.layer([broken, ScriptedModel.layer([ScriptedModel.text("second")])], {
        circuitBreaker: { tripPolicy: CircuitBreaker.consecutive(1), openDuration: "1 minute" }
      })
      const exits = yield* Effect.replicateEffect(Effect.exit(Agent.make("a", {}).run("x")), 2).pipe(
        Effect.provide(model)
      )
      assert.isTrue(Exit.isFailure(exits[0]!) && JSON.stringify(exits[0]).includes("bug"))
      assert.deepStrictEqual(exits[1], Exit.succeed("second"))
      assert.strictEqual(asked, 1)
    }))

  it.effect("names the skipped model if no other remains", () =>
    Effect.gen(function*() {
      const { layer } = yield* two(down(1), down(1), {
        circuitBreaker: { tripPolicy: CircuitBreaker.consecutive(1), openDuration: "1 minute" }
      })
      const error = yield* Effect.andThen(
        Effect.exit(Agent.make("a", {}).run("x")),
        Effect.flip(Agent.make("a", {}).run("x"))
      )
        .pipe(Effect.provide(layer))
      assert.include(error.message, "Model 2 is left out: its circuit is open")
    }))

  it.effect("objects fall over as a whole, and the next model has the format", () =>
    Effect.gen(function*() {
      const { asked, layer } = yield* two(down(1), [ScriptedModel.object({ n: 1 })])
      const { value } = yield* LanguageModel.generateObject({ prompt: "x", schema: Schema.Struct({ n: Schema.Int }) })
        .pipe(
          Effect.provide(layer)
        )
      assert.deepStrictEqual(value, { n: 1 })
      assert.deepStrictEqual(yield* asked, [1, 1])
    }))

  it.effect("an object request that runs tools stays with the first model", () =>
    Effect.gen(function*() {
      const { asked, layer } = yield* two(down(1), [ScriptedModel.object({ n: 1 })])
      const kit = Toolkit.make(AiTool.make("pay", { success: Schema.Int }))
      const exit = yield* Effect.exit(
        LanguageModel.generateObject({ prompt: "x", schema: Schema.Struct({ n: Schema.Int }), toolkit: kit })
      ).pipe(Effect.provide(kit.toLayer({ pay: () => Effect.succeed(1) })), Effect.provide(layer))
      assert.isTrue(Exit.isFailure(exit))
      assert.deepStrictEqual(yield* asked, [1, 0])
    }))

  it.effect("fails with the last model's error when none is left", () =>
    Effect.gen(function*() {
      const last = ScriptedModel.failure("InternalProviderError")
      const { layer } = yield* two(down(1), [last])
      const error = yield* Effect.flip(Agent.make("a", {}).run("x")).pipe(Effect.provide(layer))
      assert.strictEqual(error, last.error)
    }))
})

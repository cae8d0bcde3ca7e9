/** Plain functions that hear events. */
import { ScriptedModel } from "@recourse/testing"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Layer, Logger } from "effect"
import { Agent, AgentEvent } from "@recourse/core"

const inner = Agent.make("inner", {})
const outer = Agent.make("outer", { tools: [inner.pipe(Agent.asTool("ask", { description: "Asks" }))] })

const script = () =>
  ScriptedModel.layer([ScriptedModel.call("ask", { input: "?" }), ScriptedModel.text("!"), ScriptedModel.text("Done.")])

describe("CurrentSyncListener", () => {
  it.effect("receives a listener's events, nested ones too, once and in order", () =>
    Effect.gen(function*() {
      const heard: Array<AgentEvent.AgentEvent> = []
      const listened: Array<AgentEvent.AgentEvent> = []
      yield* outer.run("Hi").pipe(
        Effect.provideService(AgentEvent.CurrentSyncListener, (event) => void heard.push(event)),
        Effect.provide(AgentEvent.listen((event) => Effect.sync(() => listened.push(event)))),
        Effect.provide(script())
      )
      assert.deepStrictEqual(heard, listened)
      assert.deepStrictEqual(heard.map(({ sequence }) => sequence), heard.map((_, n) => n))
      assert.include(heard.map(({ _tag }) => _tag), "AgentFinished")
      assert.strictEqual(heard.at(-1)?._tag, "RunFinished")
    }))

  it.effect("a run continues when one throws, which is logged once", () =>
    Effect.gen(function*() {
      const logged: Array<unknown> = []
      let events = 0
      const answer = yield* outer.run("Hi").pipe(
        Effect.provideService(AgentEvent.CurrentSyncListener, () => {
          events++
          throw new Error("no disk")
        }),
        Effect.provide(Layer.merge(script(), Logger.layer([Logger.make(({ message }) => void logged.push(message))])))
      )
      assert.strictEqual(answer, "Done.")
      assert.isAbove(events, 5)
      assert.deepStrictEqual(logged, [["A listener failed: the run continues"]])
    }))
})

const { emit } = await import(new URL("../../src/internal/run/run.ts", import.meta.url).href) as {
  readonly emit: (run: { readonly audience: unknown } | undefined, body: () => never) => Effect.Effect<void>
}

describe("a run without a listener", () => {
  it.effect("builds no event", () =>
    Effect.gen(function*() {
      const body = (): never => assert.fail("an event was built")
      yield* emit(undefined, body)
      yield* emit({ audience: undefined }, body)
    }))

  it.effect("reads the clock for no event", () =>
    Effect.gen(function*() {
      /** Number of a run's clock readings: events and spans have times of their own. */
      const reads = (listeners: Layer.Layer<never>) =>
        Effect.gen(function*() {
          let count = 0
          const clock = yield* Clock.Clock
          const counting: Clock.Clock = {
            ...clock,
            currentTimeMillisUnsafe: () => (count++, clock.currentTimeMillisUnsafe())
          }
          yield* outer.run("Hi").pipe(
            Effect.provideService(Clock.Clock, counting),
            Effect.provide(listeners),
            Effect.provide(script())
          )
          return count
        })
      let events = 0
      const without = yield* reads(Layer.empty)
      const withListener = yield* reads(AgentEvent.listen(() => Effect.sync(() => void events++)))
      assert.isAbove(events, 10)
      assert.isAtLeast(withListener - without, events)
    }))
})

/** Wall clocks that are set while processes wait, read and run: they change no duration. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, Recovery, Runs, Tool } from "@recourse/core"
import { Durable, RunStore } from "@recourse/durable"
import { ScriptedModel, VirtualTime } from "@recourse/testing"
import { Effect, Fiber, Layer, Stream } from "effect"

const hour = 3_600_000

/** The time at which the wall clocks are set, and by how much. */
const setAt = 3500

const clocks = [["back", -hour], ["forward", hour]] as const

/** A store that notifies no process of the changes of another, like PostgreSQL behind a pooler. */
const silent = (store: RunStore.Store): RunStore.Store => ({ ...store, listen: () => Effect.void })

/** A clerk who works for a time, in a run `r1` that one process executes and another one observes. */
const observed = <A, E>(
  by: number,
  work: Effect.Effect<unknown>,
  observe: (parts: {
    readonly reads: Array<number | undefined>
    readonly steps: Array<RunStore.Step>
    readonly wait: Effect.Effect<unknown>
  }) => Effect.Effect<A, E, Runs.Runs>
) =>
  VirtualTime.run(
    Effect.scoped(Effect.gen(function*() {
      const reads: Array<number | undefined> = []
      const steps: Array<RunStore.Step> = []
      const rows = yield* Effect.map(Layer.build(Layer.fresh(RunStore.layerMemory)), (context) => {
        const store = Effect.runSync(Effect.provide(RunStore.RunStore, context))
        return {
          ...store,
          events: (runId, from, readMillis) =>
            Effect.suspend(() => (reads.push(readMillis), store.events(runId, from, readMillis))),
          append: (added) => Effect.suspend(() => (steps.push(...added), store.append(added)))
        } satisfies RunStore.Store as RunStore.Store
      })
      const tool = Tool.make("work", { effects: "write", execute: () => Effect.asVoid(work) })
      const agent = Durable.make(Agent.make("clerk", { tools: [tool], defaults: { onError: Recovery.keepGoing } }))
      const model = ScriptedModel.layer(({ prompt }) =>
        prompt.content.at(-1)?.role === "tool" ? ScriptedModel.text("done") : ScriptedModel.call("work", {})
      )
      const store = Layer.succeed(RunStore.RunStore, silent(rows))
      const runner = yield* Layer.build(Layer.fresh(Durable.layer([agent])).pipe(Layer.provide([model, store])))
      const client = yield* Layer.build(Layer.fresh(Durable.layerClient([agent])).pipe(Layer.provide(store)))
      yield* Effect.provide(agent.start("r1", "go"), runner)
      return yield* Effect.provide(
        observe({ reads, steps, wait: Effect.provide(Effect.orDie(agent.await("r1")), client) }),
        client
      )
    })),
    { wall: (now) => now + (now >= setAt ? by : 0) }
  )

describe("a wall clock that is set", () => {
  for (const [name, by] of clocks) {
    it.live(`${name} delays no waiting process`, () =>
      Effect.gen(function*() {
        const { elapsed, exit } = yield* observed(by, Effect.sleep("10 seconds"), ({ wait }) => wait)
        assert.strictEqual(yield* exit, "done")
        assert.isBelow(elapsed, 12_000)
      }))

    it.live(`${name} keeps a run marked as read while its events are read`, () =>
      Effect.gen(function*() {
        const { exit } = yield* observed(by, Effect.sleep("1 minute"), ({ reads }) =>
          Effect.gen(function*() {
            const runs = yield* Runs.Runs
            const reader = yield* Effect.forkChild(Stream.runDrain(runs.events("r1")))
            yield* Effect.sleep("30 seconds")
            yield* Fiber.interrupt(reader)
            return reads.filter((millis) => millis !== undefined).length
          }))
        // A mark lasts for ten seconds, and is renewed after half of them.
        const marks = yield* exit
        assert.isAtLeast(marks, 5)
        assert.isAtMost(marks, 7)
      }))

    it.live(`${name} does not change the recorded time of a step`, () =>
      Effect.gen(function*() {
        const { exit } = yield* observed(
          by,
          Effect.sleep("10 seconds"),
          ({ steps, wait }) => Effect.map(wait, () => steps.map(({ elapsed }) => elapsed))
        )
        for (const elapsed of yield* exit) {
          assert.isAtLeast(elapsed, 0)
          assert.isAtMost(elapsed, 11_000)
        }
      }))
  }
})

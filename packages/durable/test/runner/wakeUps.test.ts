/** Wake-ups: a change while a process reads its store is not missed, however late the answer comes. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, Runs } from "@recourse/core"
import { Durable, RunStore } from "@recourse/durable"
import { VirtualTime } from "@recourse/testing"
import { Context, Effect, Exit, Fiber, Layer, Stream } from "effect"

/** Polling finds everything, an hour late. */
const poll = "1 hour"

const Sleeper = Durable.make(
  Agent.fromFunction("sleeper", (millis: string) => Effect.as(Effect.sleep(Number(millis)), "done"))
)

/** A store whose answers to reads and claims arrive a second late. */
const late = (store: RunStore.Store): RunStore.Store => {
  const second = <A, E>(effect: Effect.Effect<A, E>) => Effect.tap(effect, Effect.sleep("1 second"))
  return {
    ...store,
    get: (runId) => second(store.get(runId)),
    ended: (runIds) => second(store.ended(runIds)),
    events: (...args) => second(store.events(...args)),
    take: (wanted) => second(store.take(wanted))
  }
}

const runsOf = <E>(layer: Layer.Layer<Runs.Runs, E, RunStore.RunStore>, store: RunStore.Store) =>
  Effect.map(
    Layer.build(layer.pipe(Layer.provide(Layer.succeed(RunStore.RunStore, store)))),
    (context) => Context.get(context, Runs.Runs)
  )

type Waits = (runs: Runs.RunsService, at: number) => Effect.Effect<void, unknown>

/** Ways in which a process waits: the run is executed by another one, or by one with a late store. */
const waits: Readonly<Record<string, { readonly lateRunner: boolean; readonly wait: Waits }>> = {
  "the end of a run": {
    lateRunner: false,
    wait: (runs, at) =>
      Effect.gen(function*() {
        yield* runs.start({ agent: "sleeper", input: String(at), runId: "r1" })
        assert.strictEqual((yield* runs.wait("r1")).status, "completed")
      })
  },
  "the events of a run": {
    lateRunner: false,
    wait: (runs, at) =>
      Effect.gen(function*() {
        yield* runs.start({ agent: "sleeper", input: String(at), runId: "r1" })
        const events = yield* Stream.runCollect(runs.events("r1"))
        assert.strictEqual(events.at(-1)?.event._tag, "RunFinished")
      })
  },
  "a run to execute": {
    lateRunner: true,
    wait: (runs, at) =>
      Effect.gen(function*() {
        yield* Effect.sleep(at)
        yield* runs.start({ agent: "sleeper", input: "0", runId: "r1" })
        yield* runs.wait("r1")
      })
  },
  "the end of a cancelled run": {
    lateRunner: true,
    wait: (runs, at) =>
      Effect.gen(function*() {
        yield* runs.start({ agent: "sleeper", input: "86400000", runId: "r1" })
        yield* Effect.sleep(at)
        yield* runs.cancel("r1")
        assert.strictEqual((yield* runs.wait("r1")).status, "cancelled")
      })
  }
}

describe("wake-ups", () => {
  for (const [name, { lateRunner, wait }] of Object.entries(waits)) {
    it.live(`are not missed by who waits for ${name}`, () =>
      Effect.gen(function*() {
        for (let at = 0; at <= 4000; at += 250) {
          const played = yield* VirtualTime.run(Effect.scoped(Effect.gen(function*() {
            const store = Context.get(yield* Layer.build(Layer.fresh(RunStore.layerMemory)), RunStore.RunStore)
            yield* runsOf(Durable.layer([Sleeper], { poll }), lateRunner ? late(store) : store)
            const runs = yield* runsOf(Durable.layerClient([Sleeper], { poll }), lateRunner ? store : late(store))
            const fiber = yield* Effect.forkChild(wait(runs, at))
            return yield* Effect.timeout(Fiber.join(fiber), "30 seconds")
          })))
          assert.isTrue(Exit.isSuccess(played.exit), `at ${at}: ${played.exit}`)
        }
      }))
  }

  it.live("are asked for again after the store has died", () =>
    Effect.gen(function*() {
      const played = yield* VirtualTime.run(Effect.scoped(Effect.gen(function*() {
        const store = Context.get(yield* Layer.build(Layer.fresh(RunStore.layerMemory)), RunStore.RunStore)
        let asked = 0
        const dyingOnce: RunStore.Store = {
          ...store,
          ended: (runIds) => asked++ === 0 ? Effect.die("disk") : store.ended(runIds)
        }
        yield* runsOf(Durable.layer([Sleeper]), store)
        const runs = yield* runsOf(Durable.layerClient([Sleeper]), dyingOnce)
        yield* runs.start({ agent: "sleeper", input: "60000", runId: "r1" })
        const first = yield* Effect.exit(runs.wait("r1"))
        const second = yield* Effect.timeout(runs.wait("r1"), "2 minutes")
        return { first: String(first), second: second.status }
      })))
      assert.deepEqual(played.exit, Exit.succeed({ first: "Failure(Cause([Die(\"disk\")]))", second: "completed" }))
    }))
})

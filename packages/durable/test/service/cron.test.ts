/** Runs by cron: each time has one run, for any fate of the processes and the store. */
import { assert, describe, it } from "@effect/vitest"
import { Clock, Context, Cron, Effect, Layer, Logger, Schema } from "effect"
import { Agent } from "@recourse/core"
import { Durable, RunStore } from "@recourse/durable"
import { VirtualTime } from "@recourse/testing"
import { seeded } from "../../../core/test/support/seeded.ts"

const minute = 60_000

/** A cron of each minute over a store that cannot be reached at times. */
const world = (away: ReadonlyArray<readonly [from: number, to: number]> = []) => {
  const context = Effect.runSync(Effect.scoped(Layer.build(Layer.fresh(RunStore.layerMemory))))
  const store = Context.get(context, RunStore.RunStore)
  const done: Array<string> = []
  const tick = Durable.make(Agent.fromFunction("tick", (at: number) => Effect.sync(() => done.push(String(at)))), {
    input: Schema.Number,
    output: Schema.Number
  })
  const reached = <A>(effect: Effect.Effect<A, RunStore.RunStoreError>) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) =>
      away.some(([from, to]) => now >= from && now < to)
        ? Effect.fail(new RunStore.RunStoreError({ operation: "away", reason: "away" }))
        : effect)
  const seen: RunStore.Store = {
    ...store,
    insert: (run) => reached(store.insert(run)),
    list: (query) => reached(store.list(query)),
    get: (runId) => reached(store.get(runId)),
    take: (wanted) => reached(store.take(wanted)),
    settle: (hold, settlement) => reached(store.settle(hold, settlement))
  }
  const process = (catchUp?: Durable.CronOptions<number>["catchUp"]) =>
    Effect.never.pipe(
      Effect.provide(
        Durable.layerCron(tick, {
          name: "tick",
          cron: Cron.parseUnsafe("* * * * *", "UTC"),
          input: (at) => at.getTime(),
          catchUp
        }).pipe(
          Layer.provide(Durable.layer([tick], { poll: "10 seconds" })),
          Layer.provide(Layer.succeed(RunStore.RunStore, seen)),
          Layer.provide(Logger.layer([]))
        )
      )
    )
  const started = Effect.map(
    Effect.orDie(store.list({ limit: 1000 })),
    (all) => all.map(({ runId }) => new Date(runId.slice("tick ".length)).getTime() / minute).toSorted((a, b) => a - b)
  )
  const startByHand = (runId: string) =>
    Effect.orDie(
      store.insert({ runId, agent: "tick", version: "1", owner: undefined, input: 0, delayMillis: 60 * minute })
    )
  return { process, done, started, startByHand }
}

const minutes = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, n) => from + n)
const options = (startAt: number, forMinutes: number) =>
  ({ startAt: startAt * minute, limit: `${forMinutes} minutes`, steps: 2_000_000 }) as const

describe("a cron", () => {
  it.live(
    "starts each time once, also missed ones, with killed processes",
    () =>
      Effect.gen(function*() {
        for (let seed = 1; seed <= 5; seed++) {
          const next = seeded(seed)
          const from = (3 + next() % 20) * minute + next() % minute
          const { done, process, started } = world([[from, from + (1 + next() % 12) * minute]])
          yield* VirtualTime.runAll<never, unknown, never>([
            { effect: process(), wall: (now) => now - next() % 20_000 },
            { effect: process(), identity: 1, killAt: 200 + next() % 6000 }
          ], { ...options(0, 45), order: seed })
          const times = yield* started
          assert.deepEqual(times, minutes(times[0]!, times.at(-1)!), `seed ${seed}`)
          assert.isAtLeast(times.length, 43, `seed ${seed}`)
          assert.deepEqual(new Set(done).size, times.length, `seed ${seed}`)
        }
      }),
    60_000
  )

  it.live("starts missed times without a process, up to the limit", () =>
    Effect.gen(function*() {
      const { process, started } = world()
      yield* VirtualTime.run(process(), options(0.5, 5))
      assert.deepEqual(yield* started, minutes(0, 5))
      // Of the nine minutes without a process, six are within the limit.
      yield* VirtualTime.run(process("6 minutes"), options(14.5, 2))
      assert.deepEqual(yield* started, [...minutes(0, 5), ...minutes(9, 16)])
      // Without a known one in so long, only the last one: a new cron does not start with an hour of them.
      yield* VirtualTime.run(process("6 minutes"), options(100.5, 2))
      assert.deepEqual((yield* started).slice(-3), [100, 101, 102])
    }))

  it.live("finds its past behind runs with similar ids", () =>
    Effect.gen(function*() {
      const { done, process, startByHand } = world()
      yield* VirtualTime.run(process("10 minutes"), options(0.5, 5))
      const similar = ["tick by hand", "tick daily 1970-01-01T00:05:30.000Z", "tick 2001", "tick 1970-01-01"]
      yield* VirtualTime.run(Effect.forEach(similar, startByHand), { startAt: 5.6 * minute })
      yield* VirtualTime.run(process("10 minutes"), options(9.5, 1))
      assert.deepEqual(done.map((at) => Number(at) / minute), minutes(0, 10))
    }))

  it("refuses times that no date has, and ids that are too long", () => {
    const tick = Durable.make(Agent.fromFunction("tick", (at: string) => Effect.succeed(at)))
    const cronOf = (name: string, cron: string) => () =>
      Durable.layerCron(tick, { name, cron: Cron.parseUnsafe(cron, "UTC"), input: String })
    assert.throws(cronOf("never", "0 0 30 2 *"), /no date is one of its times/)
    assert.throws(cronOf("x".repeat(231), "* * * * *"), /at most 255 characters/)
    assert.doesNotThrow(cronOf("leap", "0 0 29 2 *"))
  })
})

/** Deterministic simulation: processes are killed at drawn operations, in virtual time; the store and the world outside stay. */
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Exit, Layer, Logger, Stream } from "effect"
import { IdempotencyLedger, Runs, type Runs as RunsModule } from "@recourse/core"
import { Durable, RunStore } from "@recourse/durable"
import { VirtualTime } from "@recourse/testing"
import { isChosen, operationsBetween } from "../../../core/test/support/operations.ts"
import { ledgerStore } from "../../../core/test/fixtures/sharedStore.ts"
import { type Fault, faulty } from "../support/faultyStore.ts"
import { durable, model, type World, world } from "../support/office.ts"

const shared = () => {
  const outside = world()
  const store = Effect.runSync(Effect.scoped(Layer.build(RunStore.layerMemory)))
  const kept = ledgerStore()
  const entries: IdempotencyLedger.Store = {
    ...kept,
    complete: (intent, outcome, timeToLive) =>
      Effect.tap(
        kept.complete(intent, outcome, timeToLive),
        () => Effect.sync(() => outside.paidBefore ??= outside.keys.length)
      )
  }
  const ledger = Layer.suspend(() => IdempotencyLedger.layer(entries))
  return {
    outside,
    around: Layer.merge(Layer.succeedContext(store), ledger),
    store: Context.get(store, RunStore.RunStore)
  }
}

/** A process that executes existing runs, until the run has ended. */
const runner = ({ around, outside, store }: ReturnType<typeof shared>, faults: ReadonlyArray<Fault> = []) => {
  const chief = durable(outside)
  const seen = Layer.succeed(RunStore.RunStore, faulty(store, faults))
  return chief.run("r1", "go").pipe(
    Effect.provide(Durable.layer([chief]).pipe(Layer.provide([seen, model(outside)]), Layer.provide(around))),
    // A store that fails is logged, and here it does all the time.
    Effect.provide(Logger.layer([]))
  )
}

/** Invariants for any fate of the processes. */
const laws = (outside: World, steps: ReadonlyArray<RunStore.Step>, info: RunsModule.RunInfo) => {
  assert.strictEqual(info.status, "completed")
  assert.strictEqual(info.output, "done")
  // No write without a key begins twice; one with a key has one key.
  assert.strictEqual(new Set(outside.writes).size, outside.writes.length, outside.writes.join())
  assert.isAtMost(new Set(outside.keys).size, 1)
  assert.isAtLeast(outside.keys.length, 1)
  // A kill between the store's answer and the count leaves the first outcome uncounted.
  assert.strictEqual(outside.keys.length, outside.paidBefore ?? 1, "nothing runs whose outcome the ledger has")
  // Unexecuted calls are reported as unknown.
  for (const seat of ["1A", "3C"]) {
    if (!outside.writes.includes(seat)) {
      assert.isTrue(
        steps.some(({ kind, value }) => kind === "call" && JSON.stringify(value).includes("outcome_unknown"))
      )
    }
  }
  // Each answer of a model is recorded once.
  const keys = steps.filter(({ kind }) => kind === "model").map(({ key }) => key)
  assert.strictEqual(new Set(keys).size, keys.length)
  assert.strictEqual(keys.length, 5)
  const numbers = steps.flatMap(({ events, firstEvent }) => events.map((_, index) => firstEvent + index))
  assert.deepEqual(numbers, numbers.map((_, index) => index))
}

const stepsOf = (store: RunStore.Store) => Effect.map(store.load({ runId: "r1", segment: 0 }), ({ steps }) => steps)

describe("a durable run whose process is killed", () => {
  it.live("before each of its operations continues, and repeats no call", () =>
    Effect.gen(function*() {
      const whole = yield* VirtualTime.run(runner(shared()))
      assert.deepEqual(whole.exit, Exit.succeed("done"))
      let killed = 0
      for (const killAt of operationsBetween(1, whole.operations, 59)) {
        const world = shared()
        const first = yield* VirtualTime.run(runner(world), { killAt })
        if (first.stopped === "killed") killed++
        const recorded = (yield* stepsOf(world.store)).filter(({ kind }) => kind === "model").length
        const before = world.outside.asked.length
        const last = yield* VirtualTime.run(runner(world), { startAt: 60_000, identity: 1 })
        assert.deepEqual(last.exit, Exit.succeed("done"), `killed at ${killAt}`)
        // No answer that is recorded is asked for again.
        assert.strictEqual(recorded + world.outside.asked.length - before, 5, `killed at ${killAt}`)
        const info = yield* Effect.orDie(Effect.provide(
          Effect.flatMap(Runs.Runs, (runs) => runs.get("r1")),
          Durable.layerClient([durable(world.outside)]).pipe(Layer.provide(world.around))
        ))
        laws(world.outside, yield* stepsOf(world.store), info)
      }
      assert.isAbove(killed, 10)
    }), 120_000)

  it.live("over several executions, with two runners, ends once", () =>
    Effect.gen(function*() {
      for (let seed = 1; seed <= 30; seed++) {
        const world = shared()
        const next = ((seed * 2654435761) >>> 0) % 1000
        const ended = yield* VirtualTime.runAll(
          [
            { effect: runner(world), killAt: 150 + next },
            { effect: runner(world), killAt: 400 + next * 2, identity: 1 },
            { effect: runner(world), identity: 2 }
          ],
          { order: seed }
        )
        assert.deepEqual(ended.at(-1)?.exit, Exit.succeed("done"), `seed ${seed}`)
        const runs = yield* Effect.orDie(Effect.provide(
          Effect.flatMap(Runs.Runs, (runs) => Effect.zip(runs.get("r1"), Stream.runCollect(runs.events("r1")))),
          Durable.layerClient([durable(world.outside)]).pipe(Layer.provide(world.around))
        ))
        laws(world.outside, yield* stepsOf(world.store), runs[0])
        assert.strictEqual(runs[1].filter(({ event }) => event._tag === "RunFinished").length, 1)
      }
    }), 120_000)

  it.live(
    "with a frozen runner or faulty store at each operation executes once",
    () =>
      Effect.gen(function*() {
        for (const [nth, fault] of (["fails", "dies", "lost", "frozen", "gone", "slow"] as const).entries()) {
          for (let at = 1; at <= 24; at++) {
            if (!isChosen(nth, at)) continue
            const world = shared()
            const ended = yield* VirtualTime.runAll(
              [{ effect: runner(world, [{ at, fault }]) }, { effect: runner(world), identity: 1 }],
              { order: at }
            )
            const about = `${fault} at ${at}`
            for (const { exit } of ended) assert.deepEqual(exit, Exit.succeed("done"), about)
            const info = yield* Effect.orDie(Effect.provide(
              Effect.flatMap(Runs.Runs, (runs) => runs.get("r1")),
              Durable.layerClient([durable(world.outside)]).pipe(Layer.provide(world.around))
            ))
            laws(world.outside, yield* stepsOf(world.store), info)
          }
        }
      }),
    120_000
  )
})

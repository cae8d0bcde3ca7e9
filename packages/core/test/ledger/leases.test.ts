/** Leases of the idempotency ledger, in virtual time: processes with different clocks, and suspended processes. */
import { assert, describe, it } from "@effect/vitest"
import { Clock, Duration, Effect, Exit, Fiber, Layer, Random, Schema } from "effect"
import { KeyValueStore } from "effect/persistence"
import { TestClock } from "effect/testing"
import { Drive } from "@recourse/testing"
import { IdempotencyLedger, Reconciliation, StoreTimeout, Tool } from "@recourse/core"
import { by, collectLogs } from "../support/kit.ts"
import { sharedStore } from "../fixtures/sharedStore.ts"

describe("a lease", () => {
  const store = { begin: () => Effect.die("unused"), complete: () => Effect.die("unused") } as never

  it.each<readonly [options: IdempotencyLedger.LeaseOptions, isRefused: boolean]>([
    [{}, false],
    [{ lease: "100 millis" }, false],
    [{ lease: "1 day", waitFor: 0 }, false],
    [{ lease: "99 millis" }, true],
    [{ lease: 0 }, true],
    [{ lease: "Infinity" }, true]
  ])("of %o is refused: %s", (options, isRefused) => {
    const make = () => IdempotencyLedger.make(store, options)
    if (isRefused) assert.throws(make, "IdempotencyLedger: lease must be finite and 100 ms at least")
    else make()
  })
})

describe("an operation of a store", () => {
  it.effect("that was abandoned is interrupted, and blocks no caller", () =>
    Effect.gen(function*() {
      let ended = 0
      const hang = Effect.onInterrupt(Effect.never, () => Effect.sync(() => ended++))
      const ledger = IdempotencyLedger.make({ begin: () => hang, renew: () => hang, complete: () => hang } as never)
      const intent = { id: "k", tool: "pay", callId: "c1", arguments: "h", claim: "a" }
      const fiber = yield* Effect.forkChild(ledger.forget(intent), { startImmediately: true })
      yield* TestClock.adjust("1 second")
      yield* Fiber.interrupt(fiber)
      assert.strictEqual(ended, 1)
    }))
})

describe("a ledger of one process", () => {
  const firstResult = Effect.gen(function*() {
    let runs = 0
    const pay = Tool.make("pay", {
      parameters: Schema.Struct({ amount: Schema.Int }),
      success: Schema.Struct({ payment: Schema.Int, at: Schema.DateFromString }),
      effects: "write",
      idempotency: { key: () => "k", timeToLive: "1 hour" },
      execute: () => Effect.sync(() => ({ payment: ++runs, at: new Date(0) }))
    })
    const first = yield* pay.call.pipe(by({ amount: 1 }))
    assert.deepStrictEqual(first, { payment: 1, at: new Date(0) })
    assert.deepStrictEqual(yield* pay.call.pipe(by({ amount: 1 }, "c2")), first)
    const conflict = yield* Effect.flip(pay.call.pipe(by({ amount: 2 }, "c3")))
    assert.strictEqual(conflict._tag, "IdempotencyConflict")
    assert.strictEqual(yield* IdempotencyLedger.purge, 0)
    yield* TestClock.adjust("1 hour")
    assert.strictEqual(yield* IdempotencyLedger.purge, 1)
    assert.strictEqual((yield* pay.call.pipe(by({ amount: 2 }, "c4"))).payment, 2)
  })
  const promise = "answers with the first result, and with a conflict for other arguments, until it expires"

  it.effect(`in memory ${promise}`, () => firstResult.pipe(Effect.provide(IdempotencyLedger.layerMemory)))

  it.effect(`in a key/value store ${promise}`, () =>
    firstResult.pipe(
      Effect.provide(IdempotencyLedger.layerKeyValueStore()),
      Effect.provide(KeyValueStore.layerMemory)
    ))

  it.effect("keeps a result without end, if that is its time to live", () =>
    Effect.gen(function*() {
      for (
        const ledger of [
          IdempotencyLedger.layerMemory,
          IdempotencyLedger.layerKeyValueStore().pipe(Layer.provide(KeyValueStore.layerMemory))
        ]
      ) {
        let runs = 0
        const pay = Tool.make("pay", {
          success: Schema.Int,
          effects: "write",
          idempotency: { key: () => "k", timeToLive: Duration.infinity },
          execute: () => Effect.sync(() => ++runs)
        })
        const calls = Effect.gen(function*() {
          yield* pay.call.pipe(by({}))
          yield* TestClock.adjust("10000 days")
          return yield* pay.call.pipe(by({}, "c2"))
        })
        assert.strictEqual(yield* calls.pipe(Effect.provide(ledger)), 1)
      }
    }))
})

// --- processes

/** A time of suspension of a process, in milliseconds. */
interface Pause {
  readonly from: number
  readonly to: number
}

/** A process: a clock that is wrong by `skew`, and times of suspension. */
const processOf = (world: Clock.Clock, skew: number, pauses: ReadonlyArray<Pause>) => {
  const awake: Effect.Effect<void> = Effect.suspend(() => {
    const now = world.currentTimeMillisUnsafe()
    const pause = pauses.find(({ from, to }) => from <= now && now < to)
    return pause === undefined ? Effect.void : Effect.andThen(world.sleep(Duration.millis(pause.to - now)), awake)
  })
  const clock: Clock.Clock = {
    currentTimeMillisUnsafe: () => world.currentTimeMillisUnsafe() + skew,
    currentTimeNanosUnsafe: () => world.currentTimeNanosUnsafe(),
    monotonicTimeNanosUnsafe: () => world.monotonicTimeNanosUnsafe(),
    monotonicTimeNanos: world.monotonicTimeNanos,
    currentTimeMillis: Effect.sync(() => world.currentTimeMillisUnsafe() + skew),
    currentTimeNanos: Effect.sync(() => world.currentTimeNanosUnsafe()),
    sleep: (duration) => Effect.andThen(world.sleep(duration), awake)
  }
  return { awake, clock }
}

const lease = 30_000

/** Several processes that do the same write, and their outcomes. */
const race = (
  processes: ReadonlyArray<{
    readonly startsAt: number
    readonly skew: number
    readonly pauses: ReadonlyArray<Pause>
    /**
     * Time in which the executor prepares its request (it is suspended with its process), and the request's travel
     * time.
     */
    readonly prepares: number
    readonly travels: number
  }>
) =>
  Effect.gen(function*() {
    const world = yield* Clock.Clock
    const begin = world.currentTimeMillisUnsafe()
    const store = sharedStore(world)
    const landed: Array<number> = []
    const executions: Array<{ readonly process: number; readonly from: number; to: number }> = []
    const exits = yield* Effect.forEach(
      processes,
      ({ pauses, prepares, skew, startsAt, travels }, process) => {
        const { awake, clock } = processOf(
          world,
          skew,
          pauses.map(({ from, to }) => ({ from: begin + from, to: begin + to }))
        )
        const write = Tool.make("write", {
          success: Schema.Int,
          effects: "write",
          idempotency: {
            key: () => "k",
            // Truthful: a travelling request has not happened.
            reconcile: () =>
              Effect.sync(() => landed.length === 0 ? Reconciliation.notStarted : Reconciliation.completed(landed[0]!))
          },
          execute: () =>
            Effect.suspend(() => {
              const execution = { process, from: world.currentTimeMillisUnsafe() - begin, to: Infinity }
              executions.push(execution)
              return Effect.sleep(prepares).pipe(
                Effect.andThen(world.sleep(Duration.millis(travels))),
                Effect.map(() => {
                  landed.push(process)
                  execution.to = world.currentTimeMillisUnsafe() - begin
                  return process
                }),
                Effect.tap(awake)
              )
            })
        })
        const ledger = IdempotencyLedger.layer(store(awake), { lease, waitFor: "10 minutes" })
        return Effect.andThen(
          world.sleep(Duration.millis(startsAt)),
          Effect.andThen(
            awake,
            Effect.exit(write.call.pipe(by({}, `c${process}`), Effect.provide(Layer.fresh(ledger))))
          )
        ).pipe(Effect.provideService(Clock.Clock, clock))
      },
      { concurrency: "unbounded" }
    )
    return { exits, landed, executions }
  }).pipe((race) => Drive.drive(race, { step: "1 second", max: 100_000 }))

const healthy = { startsAt: 0, skew: 0, pauses: [], prepares: 0, travels: 5000 }

describe("processes that share a ledger", () => {
  it.effect("write once, though `reconcile` misses travelling requests, sharing one result", () =>
    Effect.gen(function*() {
      // Longer than the lease: it is renewed.
      const { exits, landed } = yield* race([
        { ...healthy, travels: 200_000 },
        { ...healthy, startsAt: 10_000 },
        { ...healthy, startsAt: 100_000, skew: 300_000 },
        { ...healthy, startsAt: 150_000, skew: -300_000 }
      ])
      assert.deepStrictEqual(landed, [0])
      assert.deepStrictEqual(exits, exits.map(() => Exit.succeed(0)))
    }))

  it.effect("take over from one suspended before execution, which detects it", () =>
    Effect.gen(function*() {
      // It is suspended from the moment when the store has recorded its intent.
      const { exits, landed } = yield* race([
        { ...healthy, startsAt: 1000, pauses: [{ from: 1500, to: 120_000 }] },
        { ...healthy, startsAt: 5000 }
      ])
      assert.deepStrictEqual(landed.length, 1)
      assert.isTrue(Exit.isSuccess(exits[1]!))
    }))

  it.effect("report a write overtaken during travel, and change no record", () =>
    Effect.gen(function*() {
      const logs = collectLogs()
      const { exits, landed } = yield* race([
        { ...healthy, travels: 90_000, pauses: [{ from: 4000, to: 120_000 }] },
        { ...healthy, startsAt: 5000 },
        { ...healthy, startsAt: 300_000 }
      ]).pipe(Effect.provide(logs.layer))
      assert.strictEqual(landed.length, 2)
      const [first, second, later] = exits
      assert.strictEqual(
        Exit.isFailure(first!) && first.cause.reasons[0]?._tag === "Fail"
          && (first.cause.reasons[0].error as { readonly _tag: string })._tag,
        "OutcomeUnknown"
      )
      assert.deepStrictEqual([second, later], [Exit.succeed(1), Exit.succeed(1)])
      assert.isTrue(logs.messages.some((message) => message.includes("taken over")))
    }))

  it.effect(
    "of any number and skew: a second write has an overtaken first",
    () =>
      Effect.gen(function*() {
        let overtaken = 0
        for (let seed = 1; seed <= Number(process.env["LAW_RUNS"] ?? 150); seed++) {
          const processes = yield* Effect.replicateEffect(
            Effect.gen(function*() {
              const upTo = (n: number) => Effect.map(Random.nextIntBetween(0, n), (value) => value * 1000)
              const from = yield* upTo(60)
              const isSlow = yield* Random.nextBoolean
              return {
                startsAt: yield* upTo(40),
                skew: (yield* upTo(1200)) - 600_000,
                pauses: isSlow ? [{ from, to: from + (yield* upTo(150)) }] : [],
                prepares: yield* upTo(10),
                travels: yield* upTo(100)
              }
            }),
            3
          ).pipe(Random.withSeed(`leases ${seed}`))
          const { executions, exits, landed } = yield* race(processes)
          const about = JSON.stringify({ seed, processes, landed, executions })
          const results = new Set(exits.flatMap((exit) => Exit.isSuccess(exit) ? [exit.value] : []))
          // Whoever has a result has the one that is on record.
          assert.isAtMost(results.size, 1, about)
          // A repeated write overtook one whose process was suspended for longer than the lease while it executed.
          for (const [index, second] of executions.entries()) {
            const first = executions.slice(0, index).find(({ to }) => to > second.from)
            if (first === undefined) continue
            overtaken++
            const { pauses } = processes[first.process]!
            assert.isTrue(
              pauses.some(({ from, to }) => to - from >= lease / 3 && from < first.to && to > first.from),
              about
            )
            assert.isTrue(Exit.isFailure(exits[first.process]!), about)
          }
        }
        assert.isAbove(overtaken, 0)
      }),
    60_000
  )
})

describe("a store that does not answer", () => {
  const never: IdempotencyLedger.Store = {
    begin: () => Effect.undefined,
    renew: () => Effect.succeed(true),
    take: () => Effect.succeed(true),
    complete: () => Effect.succeed("recorded"),
    release: () => Effect.void
  }
  const pay = (runs: Array<string>) =>
    Tool.make("pay", {
      success: Schema.String,
      effects: "write",
      idempotency: { key: () => "k" },
      execute: () => Effect.sync(() => (runs.push("paid"), "paid"))
    })

  for (const hang of [Effect.never, Effect.uninterruptible(Effect.never)]) {
    it.effect("fails at its time limit: at the start the tool does not run", () =>
      Effect.gen(function*() {
        const runs: Array<string> = []
        const started = yield* Clock.currentTimeMillis
        const error = yield* Drive.drive(Effect.flip(pay(runs).call.pipe(by({}))))
        assert.strictEqual(error._tag, "LedgerUnavailable")
        assert.deepStrictEqual(runs, [])
        assert.strictEqual((yield* Clock.currentTimeMillis) - started, 3000)
      }).pipe(
        Effect.provide(IdempotencyLedger.layer({ ...never, begin: () => hang })),
        Effect.provide(StoreTimeout.layer("3 seconds"))
      ))

    it.effect("fails at its time limit: at the end the result is used", () =>
      Effect.gen(function*() {
        const runs: Array<string> = []
        assert.strictEqual(yield* Drive.drive(pay(runs).call.pipe(by({}))), "paid")
        assert.strictEqual(yield* Clock.currentTimeMillis, 10_000)
      }).pipe(Effect.provide(IdempotencyLedger.layer({ ...never, complete: () => hang }))))
  }
})

describe("a store whose connection breaks", () => {
  const broken = (operation: IdempotencyLedger.LedgerError["operation"]) =>
    new IdempotencyLedger.LedgerError({ operation, reason: "reset", isTransient: true })

  for (const operation of ["begin", "complete"] as const) {
    for (const isDone of [true, false]) {
      it.effect(`is called again: ${operation}, ${isDone ? "which was done unanswered" : "which was not done"}`, () =>
        Effect.gen(function*() {
          const world = yield* Clock.Clock
          const store = sharedStore(world)(Effect.void)
          let left = 3
          const flaky = <A>(effect: Effect.Effect<A, IdempotencyLedger.LedgerError>) =>
            Effect.suspend(() =>
              left-- > 0
                ? Effect.andThen(isDone ? effect : Effect.void, Effect.fail(broken(operation)))
                : effect
            )
          const ledger = IdempotencyLedger.layer({
            ...store,
            ...(operation === "begin"
              ? { begin: (intent, lease) => flaky(store.begin(intent, lease)) }
              : { complete: (intent, outcome, timeToLive) => flaky(store.complete(intent, outcome, timeToLive)) })
          })
          let runs = 0
          const pay = Tool.make("pay", {
            success: Schema.Int,
            effects: "write",
            idempotency: { key: () => "k" },
            execute: () => Effect.sync(() => ++runs)
          })
          const calls = Effect.all([pay.call.pipe(by({})), pay.call.pipe(by({}, "c2"))])
          assert.deepStrictEqual(yield* Drive.drive(calls.pipe(Effect.provide(ledger))), [1, 1])
        }))
    }
  }

  it.effect("that recovers late loses no key of an unexecuted call", () =>
    Effect.gen(function*() {
      const world = yield* Clock.Clock
      const store = sharedStore(world)(Effect.void)
      let isDown = true
      const ledger = IdempotencyLedger.layer({
        ...store,
        begin: (intent, lease) =>
          Effect.tap(store.begin(intent, lease), () => isDown ? Effect.fail(broken("begin")) : Effect.void),
        release: (intent) => isDown ? Effect.fail(broken("release")) : store.release(intent)
      })
      const pay = Tool.make("pay", {
        success: Schema.String,
        effects: "write",
        idempotency: { key: () => "k" },
        execute: () => Effect.succeed("paid")
      })
      const calls = Effect.gen(function*() {
        const error = yield* Effect.flip(pay.call.pipe(by({})))
        isDown = false
        return [error._tag, yield* pay.call.pipe(by({}, "c2"))]
      })
      assert.deepStrictEqual(
        yield* Drive.drive(calls.pipe(Effect.provide(ledger))),
        ["LedgerUnavailable", "paid"]
      )
    }))
})

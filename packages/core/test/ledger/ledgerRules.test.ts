/** Rules of the key of a write, one by one: which arguments are the same, which answer is read, who may find out. */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Duration, Effect, Layer, Schema } from "effect"
import { KeyValueStore } from "effect/persistence"
import { TestClock } from "effect/testing"
import { IdempotencyLedger, Reconciliation, Tool } from "@recourse/core"
import { by } from "../support/kit.ts"

const { memoryStore } = await import(
  new URL("../../src/internal/idempotency/ledgerMemoryStore.ts", import.meta.url).href
) as { readonly memoryStore: () => IdempotencyLedger.Store }

const counted = <A, I>(success: Schema.Codec<A, I>, answer: (runs: number) => A) => {
  const state = { runs: 0 }
  const tool = Tool.make("pay", {
    parameters: Schema.Struct({ order: Schema.Int, amount: Schema.Int }),
    success,
    effects: "write",
    idempotency: { key: ({ order }) => `order-${order}` },
    execute: () => Effect.sync(() => answer(++state.runs))
  })
  return { state, tool }
}

it.effect("the same arguments in another order are the same call", () =>
  Effect.gen(function*() {
    const { state, tool } = counted(Schema.Int, (runs) => runs)
    assert.strictEqual(yield* tool.call.pipe(by({ order: 1, amount: 2 })), 1)
    assert.strictEqual(yield* tool.call.pipe(by({ amount: 2, order: 1 }, "c2")), 1)
    assert.strictEqual(state.runs, 1)
  }).pipe(Effect.provide(IdempotencyLedger.layerMemory)))

it.effect("a result unreadable by the present schema is unknown, without execution", () =>
  Effect.gen(function*() {
    const yesterday = counted(Schema.Int, (runs) => runs)
    yield* yesterday.tool.call.pipe(by({ order: 1, amount: 2 }))
    const today = counted(Schema.Struct({ payment: Schema.Int }), (payment) => ({ payment }))
    const error = yield* Effect.flip(today.tool.call.pipe(by({ order: 1, amount: 2 }, "c2")))
    assert.strictEqual(error._tag, "OutcomeUnknown")
    assert.strictEqual(today.state.runs, 0)
  }).pipe(Effect.provide(IdempotencyLedger.layerMemory)))

it.effect("a failure leaves the outcome unknown unless the tool is repeatable", () =>
  Effect.gen(function*() {
    for (const effects of ["write", undefined, "idempotent", "read"] as const) {
      const tool = Tool.make("pay", { effects, idempotency: true, execute: () => Effect.fail("no" as const) })
      const { _tag } = yield* Effect.flip(tool.call.pipe(by({}, `c ${effects}`)))
      assert.strictEqual(_tag, effects === "write" || effects === undefined ? "OutcomeUnknown" : "ExecutionError")
    }
  }).pipe(Effect.provide(IdempotencyLedger.layerMemory)))

it.effect("the memory deletes expired entries once a minute, when calls start", () =>
  Effect.gen(function*() {
    const store = memoryStore()
    const intent = (id: string) => ({ id, tool: "pay", callId: id, arguments: "hash", claim: id })
    for (const [millis, left] of [[59_999, 1], [1, 0], [59_999, 1], [1, 0]] as const) {
      yield* store.complete(intent("a"), { _tag: "Result", value: 1 }, Duration.zero)
      yield* TestClock.adjust(millis)
      yield* store.begin(intent(`b ${millis}`), Duration.zero)
      assert.strictEqual(yield* store.purge!, left)
    }
  }))

it.effect("an unreadable entry keeps its key: no call runs under it", () =>
  Effect.gen(function*() {
    const { state, tool } = counted(Schema.Int, (runs) => runs)
    const store = yield* KeyValueStore.KeyValueStore
    const ledger = IdempotencyLedger.layerKeyValueStore({ prefix: "" })
    yield* tool.call.pipe(by({ order: 1, amount: 2 }), Effect.provide(Layer.fresh(ledger)))
    const [key = ""] = yield* store.keys
    const entry = JSON.parse((yield* store.get(key))!) as Record<string, unknown>
    for (const change of [{ leasedUntil: "soon" }, { claim: 7 }, { expiresAt: "never" }]) {
      yield* store.set(key, JSON.stringify({ ...entry, ...change }))
      const error = yield* Effect.flip(
        tool.call.pipe(by({ order: 1, amount: 2 }, "c2"), Effect.provide(Layer.fresh(ledger)))
      )
      assert.strictEqual(error._tag, "LedgerUnavailable")
    }
    assert.strictEqual(state.runs, 1)
  }).pipe(Effect.provide(KeyValueStore.layerMemory)))

it.effect("a purge continues if an entry vanished while reading", () =>
  Effect.gen(function*() {
    let gone: ReadonlyArray<string> = []
    const store = yield* KeyValueStore.KeyValueStore
    const ledger = IdempotencyLedger.layerKeyValueStore({ prefix: "" }).pipe(
      Layer.provide(Layer.succeed(KeyValueStore.KeyValueStore, {
        ...store,
        keys: Effect.map(store.keys, (keys) => [...gone, ...keys])
      }))
    )
    const { tool } = counted(Schema.Int, (runs) => runs)
    yield* Effect.gen(function*() {
      yield* tool.call.pipe(by({ order: 1, amount: 2 }))
      yield* TestClock.adjust("24 hours")
      gone = ["vanished"]
      assert.strictEqual(yield* IdempotencyLedger.purge, 1)
    }).pipe(Effect.provide(ledger))
  }).pipe(Effect.provide(KeyValueStore.layerMemory)))

describe("a call that was cut off", () => {
  const lease = { lease: "10 seconds", waitFor: "10 seconds" } as const

  /** A store in which another process has started the payment of order 1, and died. */
  const abandoned = Effect.gen(function*() {
    const store = memoryStore()
    const entries: Array<IdempotencyLedger.Intent> = []
    const { tool } = counted(Schema.Int, (runs) => runs)
    const dies = IdempotencyLedger.layer({
      ...store,
      begin: (intent, duration) =>
        Effect.andThen(Effect.sync(() => entries.push(intent)), store.begin(intent, duration)),
      complete: () => Effect.succeed("recorded" as const)
    }, lease)
    yield* tool.call.pipe(by({ order: 1, amount: 2 }), Effect.provide(dies))
    yield* store.renew(entries[0]!, Duration.zero)
    return store
  })

  const process = (
    store: IdempotencyLedger.Store,
    reconcile: Effect.Effect<Reconciliation.Reconciliation<number>>,
    id: string
  ) => {
    const state = { runs: 0 }
    const tool = Tool.make("pay", {
      parameters: Schema.Struct({ order: Schema.Int, amount: Schema.Int }),
      success: Schema.Int,
      effects: "write",
      idempotency: { key: ({ order }) => `order-${order}`, reconcile: () => reconcile },
      execute: () => Effect.sync(() => 100 + ++state.runs)
    })
    const answered = tool.call.pipe(
      by({ order: 1, amount: 2 }, id),
      Effect.provide(Layer.fresh(IdempotencyLedger.layer(store, lease)))
    )
    return { answered, state }
  }

  it.effect("is reconciled by one of two calls: the other gets the answer", () =>
    Effect.gen(function*() {
      const store = yield* abandoned
      const both = yield* Deferred.make<void>()
      let seen = 0
      /** The entry stays until both have seen it abandoned. */
      const slow: IdempotencyLedger.Store = {
        ...store,
        take: (from, intent, duration) =>
          Effect.andThen(
            Effect.suspend(() => ++seen === 2 ? Deferred.succeed(both, undefined) : Deferred.await(both)),
            store.take(from, intent, duration)
          )
      }
      let asked = 0
      const reconcile = Effect.sync(() => Reconciliation.completed(++asked))
      const [a, b] = [process(slow, reconcile, "a"), process(slow, reconcile, "b")]
      assert.deepStrictEqual(yield* Effect.all([a.answered, b.answered], { concurrency: 2 }), [1, 1])
      assert.deepStrictEqual([asked, a.state.runs, b.state.runs], [1, 0, 0])
    }))

  it.effect("does not run for one that lost the key while reconciling", () =>
    Effect.gen(function*() {
      const store = yield* abandoned
      const { answered, state } = process(
        { ...store, renew: () => Effect.succeed(false) },
        Effect.succeed(Reconciliation.notStarted),
        "a"
      )
      assert.strictEqual((yield* Effect.flip(answered))._tag, "OutcomeUnknown")
      assert.strictEqual(state.runs, 0)
    }))
})

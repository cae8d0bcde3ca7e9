/** Promises of every store of the idempotency ledger. */

import { IdempotencyLedger, Tool, ToolCall } from "@recourse/core"
import { afterAll, assert, beforeAll, it } from "@effect/vitest"
import { Context, Duration, Effect, Exit, Layer, Schema, type Scope } from "effect"
import { type Address, ledgerLayer } from "./connections.ts"
import { forLeases } from "./forLeases.ts"
import { type Database } from "./servers.ts"

export const by = (args: unknown, id = "c1") => <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.provideService(effect, ToolCall.ToolCall, ToolCall.make({ id, arguments: args }))

export const paying = (timeToLive: Duration.Input = "1 hour") => {
  const state = { runs: 0 }
  const tool = (key: string) =>
    Tool.make("pay", {
      parameters: Schema.Struct({ amount: Schema.Int }),
      success: Schema.Struct({ payment: Schema.Int, at: Schema.DateFromString }),
      effects: "write",
      idempotency: { key: () => key, timeToLive },
      execute: () => Effect.sync(() => ({ payment: ++state.runs, at: new Date(0) }))
    })
  return { state, tool }
}

export const intent = (claim: string, key: string): IdempotencyLedger.Intent => ({
  id: key,
  tool: "pay",
  callId: claim,
  arguments: "hash",
  claim
})

/** A claim, and the end of its call. */
export const claim = (of: IdempotencyLedger.Intent) =>
  Effect.flatMap(IdempotencyLedger.IdempotencyLedger, (ledger) => {
    let settle: Effect.Effect<void> = Effect.void
    return Effect.map(
      ledger.claim(of, (given) => {
        settle = given
      }),
      (claimed) => ({ claimed, settle: Effect.suspend(() => settle) })
    )
  })

export const paid: IdempotencyLedger.Outcome = { _tag: "Result", value: "paid" }

export const short = { lease: "300 millis", waitFor: 0 } as const

export const stores = (database: Database<Address>) => {
  let place: Awaited<ReturnType<typeof database.open>>
  beforeAll(async () => {
    place = await database.open()
  }, 30_000)
  afterAll(() => place.close(), 30_000)
  /** Ledgers that share only their stored entries. */
  const fresh = (options?: IdempotencyLedger.LeaseOptions) => Layer.fresh(ledgerLayer(place.address, options))
  return { fresh, address: () => place.address }
}

export const promises = (database: Database<Address>, fresh: ReturnType<typeof stores>["fresh"]) => {
  const live = (name: string, test: () => Effect.Effect<unknown, unknown, Scope.Scope>) =>
    it.live(name, () => Effect.scoped(Effect.suspend(test)), 30_000)
  /** A claim in another process, which exists as long as the test. */
  const elsewhere = (of: IdempotencyLedger.Intent, options: IdempotencyLedger.LeaseOptions) =>
    Effect.flatMap(Layer.build(fresh(options)), (context) => Effect.provideContext(claim(of), context))

  live("lists the keys whose lease has ended without an outcome", () =>
    Effect.gen(function*() {
      const context = yield* Layer.build(fresh({ lease: "200 millis", waitFor: 0 }))
      const ledger = Context.get(context, IdempotencyLedger.IdempotencyLedger)
      assert(ledger.abandoned !== undefined)
      yield* Effect.scoped(elsewhere(intent("gone", "listed gone"), { lease: "150 millis", waitFor: 0 }))
      yield* elsewhere(intent("held", "listed held"), { lease: "1 minute", waitFor: 0 })
      // Starts of one millisecond are in the order of their ids.
      yield* Effect.sleep("5 millis")
      const { settle } = yield* Effect.provideContext(claim(intent("none", "listed none")), context)
      yield* settle
      const listed = Effect.map(ledger.abandoned(100), (entries) =>
        entries.flatMap(({ id, tool }) => id.startsWith("listed") ? [`${tool} ${id}`] : []))
      const found = yield* listed.pipe(
        Effect.delay("20 millis"),
        Effect.repeat({
          until: (entries) =>
            entries.length > 1,
          times: 200
        })
      )
      // The newest first; a call that was given up without an outcome is among them.
      assert.deepStrictEqual(found, ["pay listed none", "pay listed gone"])
      assert.lengthOf(yield* ledger.abandoned(0), 0)
    }))

  live("answers with the first result, and with a conflict for other arguments", () =>
    Effect.gen(function*() {
      const { state, tool } = paying()
      const first = yield* tool("first").call.pipe(by({ amount: 1 }))
      assert.deepStrictEqual(first, { payment: 1, at: new Date(0) })
      assert.deepStrictEqual(yield* tool("first").call.pipe(by({ amount: 1 }, "c2")), first)
      const conflict = yield* Effect.flip(tool("first").call.pipe(by({ amount: 2 }, "c3")))
      assert.strictEqual(conflict._tag, "IdempotencyConflict")
      assert.strictEqual(state.runs, 1)
    }).pipe(Effect.provide(fresh())))

  live("forgets a result by the clock of the store, and one without end never", () =>
    Effect.gen(function*() {
      for (const [key, timeToLive, runs] of [["short", "40 millis", 2], ["endless", Duration.infinity, 1]] as const) {
        const { state, tool } = paying(timeToLive)
        yield* tool(key).call.pipe(by({ amount: 1 }))
        yield* Effect.sleep("50 millis")
        yield* tool(key).call.pipe(by({ amount: 1 }, "c2"))
        assert.strictEqual(state.runs, runs, key)
      }
    }).pipe(Effect.provide(fresh())))

  live("keeps a result of any length", () =>
    Effect.gen(function*() {
      const long = Tool.make("long", {
        success: Schema.String,
        effects: "write",
        idempotency: { key: () => "long" },
        execute: () => Effect.succeed("ä".repeat(100_000))
      })
      yield* long.call.pipe(by({}))
      assert.strictEqual((yield* long.call.pipe(by({}, "c2"))).length, 100_000)
    }).pipe(Effect.provide(fresh())))

  live("lets one of many processes begin", () =>
    Effect.gen(function*() {
      const claims = yield* Effect.forEach(
        Array.from({ length: database.isShared ? 12 : 1 }, (_, n) => `p${n}`),
        (name) => elsewhere(intent(name, "many"), { lease: "10 seconds", waitFor: 0 }),
        { concurrency: "unbounded" }
      )
      const tags = claims.map(({ claimed }) => claimed._tag).sort()
      assert.deepStrictEqual(tags, ["Begun", ...Array.from({ length: tags.length - 1 }, () => "Busy")].sort())
      yield* Effect.forEach(claims, ({ settle }) => settle)
    }))

  live(
    "lets nobody take an entry whose holder is at work, however long that takes",
    () =>
      forLeases((lease, attempt) => {
        const of = (name: string) => intent(name, `work ${attempt}`)
        const options = { lease, waitFor: 0 }
        return Effect.gen(function*() {
          const holder = yield* claim(of("holder"))
          assert.strictEqual(holder.claimed._tag, "Begun")
          yield* Effect.sleep(3 * lease)
          if (!database.isShared) return
          const other = yield* elsewhere(of("other"), options)
          assert.strictEqual(other.claimed._tag, "Busy")
          if (holder.claimed._tag === "Begun") {
            assert.isTrue(yield* holder.claimed.claim.confirm)
            assert.strictEqual(yield* holder.claimed.claim.complete(paid, Duration.hours(1)), "recorded")
          }
          yield* holder.settle
          assert.strictEqual((yield* elsewhere(of("later"), options)).claimed._tag, "Finished")
        }).pipe(Effect.provide(fresh(options)))
      })
  )

  live(
    "gives an abandoned entry to one, and whoever has lost it changes nothing any more",
    () =>
      Effect.gen(function*() {
        const as = (name: string) => claim(intent(name, "cut"))
        const first = yield* as("first")
        yield* first.settle
        const others = [yield* as("a"), ...(database.isShared ? [yield* elsewhere(intent("b", "cut"), short)] : [])]
        const taken: Array<boolean> = []
        for (const { claimed } of others) {
          assert.strictEqual(claimed._tag, "Abandoned")
          if (claimed._tag !== "Abandoned") continue
          assert.strictEqual(claimed.entry.callId, "first")
          taken.push(yield* claimed.claim.take(claimed.entry))
        }
        assert.deepStrictEqual(taken, database.isShared ? [true, false] : [true])
        const late = first.claimed
        if (late._tag === "Begun") {
          assert.strictEqual(yield* late.claim.complete({ _tag: "Result", value: "late" }, Duration.hours(1)), "lost")
          yield* late.claim.release
        }
        const [winner] = others
        if (winner?.claimed._tag === "Abandoned") {
          assert.isTrue(yield* winner.claimed.claim.resume)
          assert.strictEqual(yield* winner.claimed.claim.complete(paid, Duration.hours(1)), "recorded")
        }
        yield* Effect.forEach(others, ({ settle }) => settle)
        const { claimed } = yield* as("later")
        assert.strictEqual(claimed._tag, "Finished")
        if (claimed._tag === "Finished") {
          assert.deepStrictEqual(claimed.outcome, paid)
          assert.strictEqual(claimed.entry.claim, "a")
          assert.strictEqual(claimed.entry.callId, "a")
        }
      }).pipe(Effect.provide(fresh(short)))
  )

  live(
    "finds an entry of a process that is no more abandoned once its lease has run out",
    () =>
      Effect.gen(function*() {
        if (!database.isShared) return
        yield* Effect.scoped(Effect.flatMap(Layer.build(fresh(short)), (context) =>
          // Interrupted fibers and a closed connection: no renewal, and no release.
          Effect.provideContext(claim(intent("dead", "crash")), context)))
        const started = Date.now()
        const { claimed, settle } = yield* elsewhere(intent("next", "crash"), {
          lease: "300 millis",
          waitFor: "3 seconds"
        })
        assert.strictEqual(claimed._tag, "Abandoned")
        assert.isAtLeast(Date.now() - started, 100)
        yield* settle
      })
  )

  live("has a key that was released for whoever comes next", () =>
    Effect.gen(function*() {
      const first = yield* claim(intent("first", "free"))
      if (first.claimed._tag === "Begun") yield* first.claimed.claim.release
      yield* first.settle
      const second = yield* claim(intent("second", "free"))
      assert.strictEqual(second.claimed._tag, "Begun")
      yield* second.settle
    }).pipe(Effect.provide(fresh())))

  live("records an outcome anew whose entry has vanished, and the same outcome twice", () =>
    Effect.gen(function*() {
      const { claimed, settle } = yield* claim(intent("a", "vanished"))
      if (claimed._tag !== "Begun") return assert.fail(claimed._tag)
      yield* claimed.claim.release
      assert.strictEqual(yield* claimed.claim.complete(paid, Duration.infinity), "restored")
      assert.strictEqual(yield* claimed.claim.complete(paid, Duration.infinity), "recorded")
      yield* settle
      assert.strictEqual((yield* claim(intent("b", "vanished"))).claimed._tag, "Finished")
    }).pipe(Effect.provide(fresh())))

  live(
    "lets one of two processes run, and the other has its result",
    () =>
      forLeases((lease, attempt) =>
        Effect.gen(function*() {
          if (!database.isShared) return
          let runs = 0
          const slow = Tool.make("slow", {
            success: Schema.Int,
            effects: "write",
            idempotency: { key: () => `two ${attempt}` },
            execute: () => Effect.delay(Effect.sync(() => ++runs), lease + 100)
          })
          const attempts = yield* Effect.all(
            ["c1", "c2"].map((id) => Effect.exit(slow.call.pipe(by({}, id), Effect.provide(fresh({ lease }))))),
            { concurrency: 2 }
          )
          assert.deepStrictEqual(attempts, [Exit.succeed(1), Exit.succeed(1)])
        })
      )
  )
}

/**
 * Behaviour of every store of the idempotency ledger, rule by rule: for any calling process, no claim changes another
 * one's entry.
 */
import { assert, describe, it } from "@effect/vitest"
import { IdempotencyLedger } from "@recourse/core"
import { NodeSqliteClient } from "@recourse/sql"
import { Duration, Effect, Layer, type Scope } from "effect"
import { KeyValueStore, Redis } from "effect/persistence"
import { SqlClient } from "effect/sql"
import { intent, paid } from "../support/intents.ts"
import { type Address, redisLayer, sqlLayer } from "../support/connections.ts"
import { type Database, redis, sqlDatabases } from "../support/servers.ts"

type Store = IdempotencyLedger.Store

/** A store as it is, without the ledger around it: no program can import it. */
const internal = (file: string): Promise<unknown> =>
  import(new URL(`../../packages/core/src/internal/idempotency/${file}.ts`, import.meta.url).href)
const { keyValueStore } = await internal("ledgerKeyValueStore") as {
  readonly keyValueStore: (store: KeyValueStore.KeyValueStore) => Store
}
const { memoryStore } = await internal("ledgerMemoryStore") as { readonly memoryStore: () => Store }
const { redisStore } = await internal("ledgerRedisStore") as {
  readonly redisStore: (redis: Redis.Redis["Service"], prefix: string) => Store
}
const { sqlStore } = await internal("ledgerSqlStore") as {
  readonly sqlStore: (sql: SqlClient.SqlClient, table: string) => Store
}

/** A place of a test's own. */
const placed = <A extends Address>(database: Database<A>) =>
  Effect.map(
    Effect.acquireRelease(Effect.promise(database.open), ({ close }) => Effect.promise(close)),
    ({ address }) => address
  )

const inTable = (dialect: IdempotencyLedger.Dialect) =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    for (const statement of IdempotencyLedger.createTableSql(dialect).split(";\n")) {
      if (statement !== "") yield* sql.unsafe(statement).unprepared
    }
    return sqlStore(sql, "recourse_idempotency")
  })

const memory: Readonly<Record<string, Effect.Effect<Store, unknown, Scope.Scope>>> = {
  memory: Effect.sync(memoryStore),
  "key/value": Effect.map(
    KeyValueStore.KeyValueStore,
    keyValueStore
  ).pipe(Effect.provide(KeyValueStore.layerMemory))
}

const servers: Readonly<Record<string, Effect.Effect<Store, unknown, Scope.Scope>>> = {
  SQLite: Effect.flatMap(
    Layer.build(NodeSqliteClient.layer({ filename: ":memory:" })),
    (context) => Effect.provideContext(inTable("sqlite"), context)
  ),
  ...Object.fromEntries(
    sqlDatabases.filter(({ isShared, name }) => isShared && !name.startsWith("SQLite")).map((database) => [
      database.name,
      Effect.gen(function*() {
        const address = yield* placed(database)
        const context = yield* Layer.build(sqlLayer(address))
        return yield* Effect.provideContext(inTable(address.kind === "mysql" ? "mysql" : "pg"), context)
      })
    ])
  ),
  [redis.name]: Effect.gen(function*() {
    const address = yield* placed(redis)
    const context = yield* Layer.build(redisLayer(address.url))
    return yield* Effect.provideContext(Effect.map(Redis.Redis, (redis) => redisStore(redis, address.prefix)), context)
  })
}

const stores = { ...memory, ...servers }

/**
 * A database reads its clock for each value that it writes: a duration of an hour is longer by the time of one
 * statement.
 */
const lasts = (span: Duration.Duration, from: number, to: number): void => {
  assert.isAtLeast(to - from, Duration.toMillis(span))
  assert.isAtMost(to - from, Duration.toMillis(span) + 1000)
}

const other: IdempotencyLedger.Outcome = { _tag: "Result", value: "other" }

const long = Duration.hours(1)
const over = Duration.zero

const [a, b, c] = [intent("a"), intent("b"), intent("c")]

for (const [name, make] of Object.entries(stores)) {
  describe(`a store in ${name}`, () => {
    const live = (rule: string, test: (store: Store) => Effect.Effect<unknown, unknown>) =>
      it.live(rule, () => Effect.scoped(Effect.flatMap(make, test)))

    /** The present entry. No entry is changed: its id is taken. */
    const entryOf = (store: Store) =>
      Effect.map(store.begin(intent("nobody"), over), (found) => {
        assert.isDefined(found)
        return found!.entry
      })

    live("answers with the entry that has the id, and records nothing", (store) =>
      Effect.gen(function*() {
        assert.isUndefined(yield* store.begin(a, long))
        const { entry, now } = (yield* store.begin(b, long))!
        assert.deepStrictEqual([entry.claim, entry.callId, entry.outcome], ["a", "call of a", undefined])
        lasts(long, entry.startedAt, entry.leasedUntil)
        assert.isAtLeast(now, entry.startedAt)
        assert.deepStrictEqual(yield* entryOf(store), entry)
      }))

    live("gives an entry away when its lease is over, and not before", (store) =>
      Effect.gen(function*() {
        yield* store.begin(a, long)
        const held = yield* entryOf(store)
        assert.isFalse(yield* store.take(held, b, long))
        assert.deepStrictEqual(yield* entryOf(store), held)
        assert.isTrue(yield* store.renew(a, over))
        assert.isTrue(yield* store.take(held, b, over))
        const { callId, claim, startedAt } = yield* entryOf(store)
        assert.deepStrictEqual([claim, callId, startedAt], ["b", "call of a", held.startedAt])
        assert.isTrue(yield* store.take({ ...held, claim }, c, long))
        const taken = yield* entryOf(store)
        assert.isAtLeast(taken.leasedUntil, held.startedAt + Duration.toMillis(long))
        assert.isFalse(yield* store.take(taken, a, long))
      }))

    live("renews and reads many at once as it does one by one, where it can", (store) =>
      Effect.gen(function*() {
        const { find, renewAll } = store
        if (renewAll === undefined || find === undefined) return
        const one = (id: string, claim: string) => ({ ...intent(claim), id })
        const [held, taken, done, gone] = [one("1", "c1"), one("2", "c2"), one("3", "c3"), one("4", "c4")]
        for (const each of [held, { ...taken, claim: "other" }, done]) yield* store.begin(each, over)
        yield* store.complete(done, paid, long)
        const before = yield* find(["1", "2", "3", "4"])
        assert.deepStrictEqual([...before.keys()].sort(), ["1", "2", "3"])
        assert.deepStrictEqual(before.get("3")?.entry.outcome, paid)
        assert.deepStrictEqual([...yield* renewAll([held, taken, done, gone], long)], ["c1"])
        const after = yield* find(["1", "2", "3", "4"])
        assert.isAbove(after.get("1")!.entry.leasedUntil, before.get("1")!.entry.leasedUntil)
        assert.strictEqual(after.get("1")!.entry.callId, held.callId)
        for (const id of ["2", "3"]) assert.deepStrictEqual(after.get(id)!.entry, before.get(id)!.entry)
        yield* store.begin({ ...a, id: "5" }, long)
        yield* store.complete({ ...a, id: "5" }, paid, over)
        assert.strictEqual((yield* find(["5"])).size, 0)
      }))

    live("gives an entry to one of two that have seen it abandoned", (store) =>
      Effect.gen(function*() {
        yield* store.begin(a, over)
        const seen = yield* entryOf(store)
        assert.isTrue(yield* store.take(seen, b, over))
        assert.isFalse(yield* store.take(seen, c, over))
        assert.strictEqual((yield* entryOf(store)).claim, "b")
      }))

    live(
      "lists the entries without an outcome and without a lease, the newest first",
      (store) =>
        Effect.gen(function*() {
          const { abandoned } = store
          assert(abandoned !== undefined)
          for (const [id, lease] of [["1", over], ["2", long], ["3", over], ["4", over]] as const) {
            yield* store.begin({ ...a, id }, lease)
            yield* Effect.sleep("5 millis")
          }
          yield* store.complete({ ...a, id: "3" }, paid, long)
          assert.deepStrictEqual((yield* abandoned(10)).map(({ id }) => id), ["4", "1"])
          assert.deepStrictEqual((yield* abandoned(1)).map(({ id }) => id), ["4"])
        })
    )

    live("keeps the marks of an outcome, and an outcome without any", (store) =>
      Effect.gen(function*() {
        const marks = { taintedBy: ["fetch"], degraded: [{ source: "cache", asOf: "2026-01-01T00:00:00.000Z" }] }
        const outcomes: ReadonlyArray<IdempotencyLedger.Outcome> = [
          { ...paid, marks },
          { _tag: "PartialSuccess", succeeded: [1], failed: [], marks },
          { _tag: "Pending", taskId: "t", marks: { taintedBy: ["fetch"] } },
          paid
        ]
        for (const [index, outcome] of outcomes.entries()) {
          const one = { ...a, id: `k${index}` }
          yield* store.begin(one, long)
          assert.strictEqual(yield* store.complete(one, outcome, long), "recorded")
          assert.deepStrictEqual((yield* store.begin({ ...b, id: one.id }, long))?.entry.outcome, outcome)
        }
      }))

    live("does not give a finished entry away", (store) =>
      Effect.gen(function*() {
        yield* store.begin(a, over)
        const seen = yield* entryOf(store)
        assert.strictEqual(yield* store.complete(a, paid, long), "recorded")
        for (const taker of [b, a]) assert.isFalse(yield* store.take(seen, taker, long))
        const { claim, outcome } = yield* entryOf(store)
        assert.deepStrictEqual([claim, outcome], ["a", paid])
      }))

    live("renews the lease of its holder only, while nothing came of it", (store) =>
      Effect.gen(function*() {
        yield* store.begin(a, over)
        assert.isFalse(yield* store.renew(b, long))
        const { leasedUntil } = yield* entryOf(store)
        assert.isTrue(yield* store.renew({ ...a, callId: "again" }, long))
        const renewed = yield* entryOf(store)
        assert.isAtLeast(renewed.leasedUntil, leasedUntil + Duration.toMillis(long))
        assert.strictEqual(renewed.callId, "again")
        yield* store.complete(a, paid, long)
        const finished = yield* entryOf(store)
        assert.isFalse(yield* store.renew(a, over))
        assert.deepStrictEqual(yield* entryOf(store), finished)
        assert.isFalse(yield* store.renew({ ...a, id: "not there" }, long))
      }))

    live("records what came of it for its holder only", (store) =>
      Effect.gen(function*() {
        yield* store.begin(a, long)
        assert.strictEqual(yield* store.complete(b, other, long), "lost")
        assert.isUndefined((yield* entryOf(store)).outcome)
        assert.strictEqual(yield* store.complete(a, paid, long), "recorded")
        assert.strictEqual(yield* store.complete(b, other, long), "lost")
        const { claim, expiresAt, outcome, startedAt } = yield* entryOf(store)
        assert.deepStrictEqual([claim, outcome], ["a", paid])
        assert.isAtLeast(expiresAt!, startedAt + Duration.toMillis(long))
      }))

    live("records anew what has vanished, and what is to be kept for ever", (store) =>
      Effect.gen(function*() {
        const kept = { ...a, id: "kept for an hour" }
        assert.strictEqual(yield* store.complete(kept, paid, long), "restored")
        const { entry } = (yield* store.begin({ ...b, id: kept.id }, over))!
        lasts(long, entry.startedAt, entry.expiresAt!)
        assert.strictEqual(yield* store.complete(a, paid, Duration.infinity), "restored")
        const { callId, claim, expiresAt, leasedUntil, outcome, startedAt } = yield* entryOf(store)
        assert.deepStrictEqual([claim, callId, outcome, expiresAt], ["a", "call of a", paid, undefined])
        assert.isAtLeast(startedAt, 0)
        lasts(over, startedAt, leasedUntil)
      }))

    live("keeps an intent whole, or refuses it", (store) =>
      Effect.gen(function*() {
        const long = { ...a, tool: "pay ".repeat(100) }
        const refusal = yield* Effect.matchEffect(store.begin(long, over), {
          onFailure: Effect.succeed,
          onSuccess: () => Effect.undefined
        })
        const kept = yield* store.begin({ ...b, tool: "pay" }, over)
        if (refusal === undefined) assert.strictEqual(kept?.entry.tool, long.tool)
        else assert.deepStrictEqual([refusal.operation, refusal.isTransient, kept], ["begin", undefined, undefined])
      }))

    live("forgets what its holder releases, if nothing came of it", (store) =>
      Effect.gen(function*() {
        yield* store.release(a)
        assert.isFalse(yield* store.take({ ...a, startedAt: 0, leasedUntil: 0 }, b, long))
        yield* store.begin(a, long)
        yield* store.release(b)
        assert.strictEqual((yield* entryOf(store)).claim, "a")
        yield* store.release(a)
        assert.isUndefined(yield* store.begin(b, long))
        yield* store.complete(b, paid, long)
        yield* store.release(b)
        assert.deepStrictEqual((yield* entryOf(store)).outcome, paid)
      }))

    live("forgets what has expired, and an entry without outcome never", (store) =>
      Effect.gen(function*() {
        yield* store.begin(a, over)
        yield* store.begin({ ...a, id: "finished" }, long)
        yield* store.complete({ ...a, id: "finished" }, paid, over)
        yield* store.complete({ ...a, id: "kept" }, paid, long)
        yield* Effect.sleep("5 millis")
        assert.strictEqual(store.purge === undefined ? 1 : yield* store.purge, 1)
        assert.isUndefined(yield* store.begin({ ...b, id: "finished" }, long))
        assert.isUndefined((yield* entryOf(store)).outcome)
        assert.isDefined(yield* store.begin({ ...b, id: "kept" }, long))
      }))

    live("begins anew where a result has expired", (store) =>
      Effect.gen(function*() {
        yield* store.begin(a, long)
        yield* store.complete(a, paid, over)
        yield* Effect.sleep("5 millis")
        assert.isUndefined(yield* store.begin(b, long))
        const { claim, outcome } = yield* entryOf(store)
        assert.deepStrictEqual([claim, outcome], ["b", undefined])
      }))
  })
}

for (const [name, make] of Object.entries(servers)) {
  it.live(`a store in ${name} repeats its answer after a lost one`, () =>
    Effect.scoped(Effect.flatMap(make, (store) =>
      Effect.gen(function*() {
        yield* store.begin(a, over)
        const { entry } = (yield* store.begin(a, over))!
        assert.strictEqual(entry.claim, "a")
        for (let tries = 0; tries < 2; tries++) assert.isTrue(yield* store.take(entry, b, long))
        assert.isFalse(yield* store.take(entry, c, long))
        for (let tries = 0; tries < 2; tries++) assert.isTrue(yield* store.renew(b, long))
        for (let tries = 0; tries < 2; tries++) assert.strictEqual(yield* store.complete(b, paid, long), "recorded")
        yield* store.begin({ ...a, id: "released" }, long)
        for (let tries = 0; tries < 2; tries++) yield* store.release({ ...a, id: "released" })
        assert.isUndefined(yield* store.begin({ ...b, id: "released" }, long))
      }))))
}

/** The laws of ledger stores hold for every store of the library, and find a store that breaks one. */
import { assert, describe, it } from "@effect/vitest"
import { IdempotencyLedger } from "@recourse/core"
import { NodeSqliteClient } from "@recourse/sql"
import * as Certify from "@recourse/testing/Certify"
import { Duration, Effect, Layer, type Scope } from "effect"
import { KeyValueStore, Redis } from "effect/persistence"
import { SqlClient } from "effect/sql"
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

const certified = (make: Effect.Effect<Store, unknown, Scope.Scope>, options?: Certify.LedgerOptions) =>
  Effect.scoped(Effect.flatMap(make, (store) => Certify.ledger(store, options)))

describe("a ledger store of the library keeps the laws", () => {
  for (const [name, make] of Object.entries(memory)) {
    it.live(`in ${name}`, () =>
      Effect.map(certified(make, { isRemote: false }), ({ laws }) => assert.strictEqual(laws.length, 15)))
  }
  for (const [name, make] of Object.entries(servers)) {
    it.live(`in ${name}`, () => Effect.map(certified(make), ({ laws }) => assert.strictEqual(laws.length, 16)), 60_000)
  }
})

const over = Duration.zero

/** By law: changes of the store in memory that break it, and no law before it. */
const careless: Readonly<Record<string, (store: Store) => Partial<Store>>> = {
  entries_are_answered: (store) => ({
    begin: (intent, lease) =>
      Effect.map(store.begin(intent, lease), (found) => found && { ...found, entry: { ...found.entry, callId: "x" } })
  }),
  keys_begin_once: (store) => {
    let open = 0
    return {
      begin: (intent, lease) =>
        Effect.suspend(() => {
          open++
          return store.begin(intent, lease)
        }).pipe(
          Effect.tap(Effect.sleep("1 millis")),
          Effect.map((found) => open > 1 ? undefined : found),
          Effect.ensuring(Effect.sync(() => open--))
        )
    }
  },
  leases_protect_entries: (store) => ({
    take: (from, intent, lease) => Effect.andThen(store.renew(from, over), store.take(from, intent, lease))
  }),
  entries_are_taken_once: (store) => ({
    take: (from, intent, lease) =>
      Effect.map(store.take(from, intent, lease), (isTaken) => isTaken || from.leasedUntil <= Date.now())
  }),
  finished_entries_stay: (store) => ({
    release: (intent) => Effect.andThen(store.reopen!(intent, over), store.release(intent))
  }),
  claims_renew_their_own: (store) => ({
    renew: (intent, lease) => store.renew({ ...intent, callId: "call of a" }, lease)
  }),
  claims_record_their_own: (store) => ({
    complete: (intent, outcome, timeToLive) =>
      Effect.map(
        store.complete(intent, outcome, timeToLive),
        (recorded) => recorded === "lost" ? "recorded" : recorded
      )
  }),
  lost_entries_are_restored: (store) => ({
    complete: (intent, outcome, timeToLive) =>
      Effect.map(
        store.complete(intent, outcome, timeToLive),
        (recorded) => recorded === "restored" ? "recorded" : recorded
      )
  }),
  outcomes_are_read_back: (store) => ({
    complete: (intent, { marks: _, ...outcome }, timeToLive) =>
      store.complete(intent, outcome as IdempotencyLedger.Outcome, timeToLive)
  }),
  intents_are_whole: (store) => ({
    begin: (intent, lease) => store.begin({ ...intent, tool: intent.tool.slice(0, 100) }, lease)
  }),
  claims_release_their_own: () => ({ release: () => Effect.void }),
  results_expire: (store) => ({
    complete: (intent, outcome, timeToLive) =>
      store.complete(intent, outcome, Duration.max(timeToLive, Duration.hours(1)))
  }),
  claims_reopen_their_own: () => ({ reopen: () => Effect.void }),
  many_are_renewed_as_one: () => ({
    find: () => Effect.succeed(new Map()),
    renewAll: (intents) => Effect.succeed(new Set(intents.map(({ claim }) => claim)))
  }),
  abandoned_entries_are_listed: (store) => ({
    abandoned: (limit) => Effect.map(store.abandoned!(limit), (entries) => entries.toReversed())
  }),
  // It is within the process: the answer of a repeated take is another one.
  answers_are_repeated: () => ({})
}

/** Stores that break a rule within a law. */
const lessCareless: Readonly<Record<string, readonly [law: string, (store: Store) => Partial<Store>]>> = {
  "takes an entry from another claim": ["leases_protect_entries", (store) => ({
    take: (from, intent, lease) =>
      Effect.flatMap(
        store.begin(intent, over),
        (found) => store.take({ ...from, claim: found?.entry.claim ?? from.claim }, intent, lease)
      )
  })],
  "reopens without a lease": ["claims_reopen_their_own", (store) => ({
    reopen: (intent) => store.reopen!(intent, over)
  })],
  "reopens for good": ["claims_reopen_their_own", (store) => ({
    reopen: (intent) => store.reopen!(intent, Duration.hours(1))
  })],
  "reads expired entries": ["many_are_renewed_as_one", (store) => {
    const all = new Map<string, IdempotencyLedger.Found>()
    return {
      complete: (intent, outcome, timeToLive) =>
        Effect.tap(store.complete(intent, outcome, timeToLive), () => {
          const entry = { ...intent, startedAt: 0, leasedUntil: 0, outcome }
          return Effect.sync(() => all.set(intent.id, { entry, now: 0 }))
        }),
      renewAll: () => Effect.succeed(new Set<string>()),
      find: (ids) =>
        Effect.map(
          Effect.forEach(ids, (id) => Effect.succeed([id, all.get(id)] as const)),
          (found) => new Map(found.flatMap(([id, one]) => one === undefined ? [] : [[id, one] as const]))
        )
    }
  }],
  "keeps the first outcome": ["results_expire", (store) => {
    const done = new Set<string>()
    return {
      complete: (intent, outcome, timeToLive) => {
        const one = JSON.stringify(intent)
        return done.has(one)
          ? Effect.succeed("recorded" as const)
          : Effect.tap(store.complete(intent, outcome, timeToLive), (recorded) =>
            Effect.sync(() => {
              if (recorded !== "lost") done.add(one)
            }))
      }
    }
  }]
}

describe("a ledger store that breaks a law is found", () => {
  for (const [law, change] of Object.entries(careless)) {
    it.live(law, () =>
      Effect.gen(function*() {
        const store = memoryStore()
        const error = yield* Effect.flip(Certify.ledger({ ...store, ...change(store) }))
        assert.strictEqual(error.law, law, error.message)
      }))
  }
  for (const [name, [law, change]] of Object.entries(lessCareless)) {
    it.live(`${law}: ${name}`, () =>
      Effect.gen(function*() {
        const store = memoryStore()
        const error = yield* Effect.flip(Certify.ledger({ ...store, ...change(store) }))
        assert.strictEqual(error.law, law, error.message)
      }))
  }
})

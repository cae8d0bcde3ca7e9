/**
 * The ledger of idempotent calls: what is about to be done is recorded before it is done, and what came of it after.
 *
 * A call whose key has a result is answered with it. One whose key was begun and not finished, because the process ended
 * in between, is `OutcomeUnknown` (or up to the declared `reconcile`), and not run again.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as KeyValueStore from "effect/persistence/KeyValueStore"
import * as Redis from "effect/persistence/Redis"
import * as SqlClient from "effect/sql/SqlClient"
import type * as SqlError from "effect/sql/SqlError"
import { claims } from "./internal/idempotency/claims.ts"
import { keyValueStore } from "./internal/idempotency/keyValueStore.ts"
import { IdempotencyLedger } from "./internal/idempotency/service.ts"
import { memoryStore } from "./internal/idempotency/memoryStore.ts"
import { redisStore } from "./internal/idempotency/redisStore.ts"
import { sqlStore } from "./internal/idempotency/sqlStore.ts"
import type { Store } from "./internal/idempotency/store.ts"

export type { Claim, Claimed, ClaimKey } from "./internal/idempotency/claims.ts"
export { IdempotencyLedger } from "./internal/idempotency/service.ts"
export { Entry, Intent, LedgerError, Outcome } from "./internal/idempotency/store.ts"
export type { Store } from "./internal/idempotency/store.ts"

/** A ledger on a store of your own. */
export const make = (store: Store): IdempotencyLedger["Service"] => ({ claim: claims(store) })

/** A layer of a ledger on a store of your own. */
export const layer = (store: Store): Layer.Layer<IdempotencyLedger> => Layer.sync(IdempotencyLedger, () => make(store))

/**
 * A ledger in the memory of the process: the same key runs once while the process lives. It cannot tell after a restart
 * what was done before.
 *
 * **Example** (The same key, the first result)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { IdempotencyLedger, Tool, ToolCall } from "@recourse/core"
 *
 * let payments = 0
 * const Pay = Tool.make("pay", {
 *   parameters: Schema.Struct({ order: Schema.Int }),
 *   success: Schema.String,
 *   effects: "write",
 *   idempotency: { key: ({ order }) => `order ${order}` },
 *   execute: () => Effect.sync(() => `payment ${++payments}`)
 * })
 *
 * const call = (id: string) =>
 *   Pay.call.pipe(Effect.provideService(ToolCall.ToolCall, ToolCall.make({ id, arguments: { order: 7 } })))
 *
 * await Effect.runPromise(
 *   Effect.all([call("c1"), call("c2")]).pipe(Effect.provide(IdempotencyLedger.layerMemory))
 * ) // => ["payment 1", "payment 1"]
 * ```
 */
export const layerMemory: Layer.Layer<IdempotencyLedger> = Layer.sync(IdempotencyLedger, () => make(memoryStore()))

/**
 * A ledger in a key/value store of `effect/persistence`: files, SQL, the browser's storage, or what else has one. Survives
 * a restart as the store does. For one process at a time, as key/value stores cannot compare and set: use
 * {@link layerSql} or {@link layerRedis} where several processes may use one key.
 */
export const layerKeyValueStore = (
  options?: {
    /** Put before every key. Default: `"idempotency/"`. */
    readonly prefix?: string | undefined
  }
): Layer.Layer<IdempotencyLedger, never, KeyValueStore.KeyValueStore> =>
  Layer.effect(
    IdempotencyLedger,
    Effect.map(
      KeyValueStore.KeyValueStore,
      (store) => make(keyValueStore(KeyValueStore.prefix(store, options?.prefix ?? "idempotency/")))
    )
  )

/**
 * A ledger in an SQL table, for any number of processes: a key is claimed by a unique column. Made for PostgreSQL and
 * SQLite, and for whatever else has `CREATE TABLE IF NOT EXISTS` and reports unique violations.
 *
 * It refuses to record within a transaction of the same client, as a rollback would forget what was done.
 */
export const layerSql = (
  options?: {
    /** Created if it is not there. Default: `"recourse_idempotency"`. */
    readonly table?: string | undefined
  }
): Layer.Layer<IdempotencyLedger, SqlError.SqlError, SqlClient.SqlClient> =>
  Layer.effect(
    IdempotencyLedger,
    Effect.flatMap(
      SqlClient.SqlClient,
      (client) => Effect.map(sqlStore(client, options?.table ?? "recourse_idempotency"), make)
    )
  )

/**
 * A ledger in Redis (or Valkey), for any number of processes: a key is claimed by a script. Needs the `Redis` service of
 * `effect/persistence`, such as `NodeRedis.layer` of `@effect/platform-node` makes. A result expires by Redis' own clock; an
 * entry that cannot be read is a `LedgerError`, and the tool does not run.
 *
 * What is recorded is as durable as Redis is set up to be. For writes that must not be done twice: `appendfsync always`, a
 * `maxmemory-policy` that evicts no keys without an expiry (`noeviction`, `volatile-*`), and no reads from replicas.
 *
 * **Example** (A ledger for all instances of a service)
 *
 * ```ts
 * import { Effect, Layer, Schema } from "effect"
 * import { NodeRedis } from "@effect/platform-node"
 * import { createRedisMock } from "js-redis-server"
 * import { IdempotencyLedger, Tool, ToolCall } from "@recourse/core"
 *
 * let payments = 0
 * const Pay = Tool.make("pay", {
 *   parameters: Schema.Struct({ order: Schema.Int }),
 *   success: Schema.String,
 *   effects: "write",
 *   idempotency: { key: ({ order }) => `order ${order}` },
 *   execute: () => Effect.sync(() => `payment ${++payments}`)
 * })
 *
 * const server = await createRedisMock()
 * const instance = (id: string) =>
 *   Pay.call.pipe(
 *     Effect.provideService(ToolCall.ToolCall, ToolCall.make({ id, arguments: { order: 7 } })),
 *     Effect.provide(
 *       Layer.fresh(IdempotencyLedger.layerRedis().pipe(Layer.provide(NodeRedis.layer({ url: server.url }))))
 *     )
 *   )
 *
 * await Effect.runPromise(
 *   Effect.all([instance("c1"), instance("c2")]).pipe(Effect.ensuring(Effect.promise(() => server.close())))
 * ) // => ["payment 1", "payment 1"]
 * ```
 */
export const layerRedis = (
  options?: {
    /** Put before every key. Default: `"recourse:idempotency:"`. */
    readonly prefix?: string | undefined
  }
): Layer.Layer<IdempotencyLedger, never, Redis.Redis> =>
  Layer.effect(
    IdempotencyLedger,
    Effect.map(Redis.Redis, (redis) => make(redisStore(redis, options?.prefix ?? "recourse:idempotency:")))
  )

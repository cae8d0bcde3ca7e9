/**
 * Idempotency ledger: records each call before it runs, and its outcome afterwards.
 *
 * A call whose key has a result is answered with that result. A call whose key another process executes waits for that
 * process. A key that was started and not finished, because its process ended, gives `OutcomeUnknown` (or runs the
 * declared `reconcile`). The call does not run again.
 *
 * A call holds its key by a lease and renews the lease while it runs. An entry is taken over only when its lease has
 * run out by the clock of the store. `StoreTimeout` limits each operation of a store.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import type * as Path from "effect/Path"
import * as KeyValueStore from "effect/persistence/KeyValueStore"
import * as Redis from "effect/persistence/Redis"
import type * as PlatformError from "effect/PlatformError"
import * as SqlClient from "effect/sql/SqlClient"
import type * as SqlError from "effect/sql/SqlError"
import { ConfigurationError } from "./ConfigurationError.ts"
import { durationOf } from "./internal/foundation/options/optionCheck.ts"
import { layerRepeatedly } from "./internal/foundation/effect/repeatLayer.ts"
import { createSql, type Dialect, prepareTable } from "./internal/foundation/sqlTable.ts"
import { atomicFiles } from "./internal/idempotency/atomicFiles.ts"
import { claims, limited } from "./internal/idempotency/claims.ts"
import { keyValueStore } from "./internal/idempotency/ledgerKeyValueStore.ts"
import { memoryStore } from "./internal/idempotency/ledgerMemoryStore.ts"
import { evictionPolicy, redisStore } from "./internal/idempotency/ledgerRedisStore.ts"
import { IdempotencyLedger, LedgerNamespace } from "./internal/idempotency/ledgerService.ts"
import { columns, sqlStore } from "./internal/idempotency/ledgerSqlStore.ts"
import type { LedgerError, Store } from "./internal/idempotency/ledgerStore.ts"

export type { Dialect } from "./internal/foundation/sqlTable.ts"
export { CheckedOutcomes, type CheckOutcome } from "./internal/idempotency/checkedOutcomes.ts"
export type { Claim, Claimant, Claimed, ClaimKey } from "./internal/idempotency/claims.ts"
export { IdempotencyLedger } from "./internal/idempotency/ledgerService.ts"
export {
  Entry,
  type EntrySchema,
  Intent,
  LedgerError,
  Marks,
  Outcome,
  type OutcomeSchema
} from "./internal/idempotency/ledgerStore.ts"
export type { Found, Recorded, Store } from "./internal/idempotency/ledgerStore.ts"

/**
 * Lease of a call's key, and how long other calls wait for it.
 *
 * @category options
 * @since 0.2.0
 */
export interface LeaseOptions {
  /**
   * Lease of a key after the last renewal; it is renewed after each third of it. The keys of a process that ended stay
   * claimed that long. A process that sleeps longer loses them, and detects it before it executes. At least 100 ms.
   * Default: 30 seconds.
   */
  readonly lease?: Duration.Input | undefined
  /**
   * Wait for another process's call with the same key, before the call is `OutcomeUnknown`. Longer than the lease, so
   * that a call after a crash finds its key abandoned. Default: twice the lease.
   */
  readonly waitFor?: Duration.Input | undefined
}

/**
 * Deletes the outcome of a compensated call. A claim of its own takes the entry from the call first: a request to record
 * the outcome that arrives later, of a process that was frozen, does not restore it.
 */
const forgetting = ({ complete, renew, take }: Store): IdempotencyLedger["Service"]["forget"] => (intent) => {
  const forgotten = { ...intent, claim: `-${intent.claim.slice(1)}` }
  const taken = Effect.flatMap(
    renew(intent, Duration.zero),
    (isOpen) =>
      isOpen ? take({ ...intent, startedAt: 0, leasedUntil: 0 }, forgotten, Duration.zero) : Effect.succeed(false)
  )
  return Effect.flatMap(
    taken,
    (isTaken) => Effect.asVoid(complete(isTaken ? forgotten : intent, { _tag: "Result", value: null }, Duration.zero))
  )
}

const service = (
  store: Store,
  options: { readonly lease: Duration.Duration | undefined; readonly waitFor: Duration.Duration }
): IdempotencyLedger["Service"] => {
  const { isRunning, ...claiming } = claims(store, options)
  const { abandoned } = limited(store)
  return {
    ...claiming,
    isPersistent: options.lease !== undefined,
    abandoned: abandoned &&
      ((limit) => Effect.map(abandoned(limit), (entries) => entries.filter(({ id }) => !isRunning(id)))),
    forget: forgetting(limited(store)),
    purge: store.purge ?? Effect.succeed(0)
  }
}

/**
 * A ledger on a store of your own. Throws `ConfigurationError` for times that make no sense.
 *
 * @category constructors
 * @since 0.2.0
 */
export const make = (store: Store, options?: LeaseOptions): IdempotencyLedger["Service"] => {
  const lease = durationOf("IdempotencyLedger", "lease", options?.lease, "30 seconds")
  const waitFor = durationOf("IdempotencyLedger", "waitFor", options?.waitFor, Duration.times(lease, 2))
  if (Duration.isLessThan(lease, Duration.millis(100)) || !Duration.isFinite(lease)) {
    throw new ConfigurationError({ subject: "IdempotencyLedger", problem: "lease must be finite and 100 ms at least" })
  }
  return service(store, { lease, waitFor })
}

/**
 * A layer of a ledger on a store of your own.
 *
 * @category layers
 * @since 0.2.0
 */
export const layer = (store: Store, options?: LeaseOptions): Layer.Layer<IdempotencyLedger> =>
  Layer.sync(IdempotencyLedger, () => make(store, options))

/**
 * A namespace for everything below the layer: entries of one namespace are unknown in every other. For tenants, services or versions
 * that share one store.
 *
 * **Example** (Two tenants with the same order number)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { IdempotencyLedger, Tool, ToolCall } from "@recourse/core"
 *
 * const paid: Array<number> = []
 * const Pay = Tool.make("pay", {
 *   parameters: Schema.Struct({ order: Schema.Int }),
 *   effects: "write",
 *   idempotency: { key: ({ order }) => `order ${order}` },
 *   execute: ({ order }) => Effect.sync(() => void paid.push(order))
 * })
 * const pay = Pay.call.pipe(
 *   Effect.provideService(ToolCall.ToolCall, ToolCall.make({ id: "c1", arguments: { order: 7 } }))
 * )
 *
 * await Effect.runPromise(
 *   Effect.all([
 *     pay.pipe(Effect.provide(IdempotencyLedger.layerNamespace("tenant-a"))),
 *     pay.pipe(Effect.provide(IdempotencyLedger.layerNamespace("tenant-b")))
 *   ]).pipe(Effect.provide(IdempotencyLedger.layerMemory))
 * )
 * paid // => [7, 7]
 * ```
 *
 * @category layers
 * @since 0.2.0
 */
export const layerNamespace = (namespace: string): Layer.Layer<never> => Layer.succeed(LedgerNamespace, namespace)

/**
 * A ledger in memory: a key runs once while the process exists. It knows no completed calls after a restart.
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
 *
 * @category layers
 * @since 0.2.0
 */
export const layerMemory: Layer.Layer<IdempotencyLedger> = Layer.sync(
  IdempotencyLedger,
  () => service(memoryStore(), { lease: undefined, waitFor: Duration.zero })
)

/**
 * A ledger in a key/value store of `effect/persistence`, such as the browser's storage. It is as durable as the store.
 * For one process at a time, because key/value stores cannot compare and set: use {@link layerSql} or {@link
 * layerRedis} if several processes may use one key.
 *
 * @category layers
 * @since 0.2.0
 */
export const layerKeyValueStore = (
  options?: LeaseOptions & {
    /** Put before every key. Default: `"idempotency/"`. */
    readonly prefix?: string | undefined
  }
): Layer.Layer<IdempotencyLedger, never, KeyValueStore.KeyValueStore> =>
  Layer.effect(
    IdempotencyLedger,
    Effect.map(
      KeyValueStore.KeyValueStore,
      (store) => make(keyValueStore(KeyValueStore.prefix(store, options?.prefix ?? "idempotency/")), options)
    )
  )

/**
 * A ledger in files of a directory, which is created if missing: for one process at a time. Each entry is written whole
 * or not at all, and has reached the disk before the call continues: a full disk or a loss of power keeps the earlier
 * entries. (`KeyValueStore.layerFileSystem` may leave an empty file, and an unusable key.)
 *
 * @category layers
 * @since 0.2.0
 */
export const layerFiles = (
  directory: string,
  options?: LeaseOptions
): Layer.Layer<IdempotencyLedger, PlatformError.PlatformError, FileSystem.FileSystem | Path.Path> =>
  Layer.effect(
    IdempotencyLedger,
    Effect.map(atomicFiles(directory), (files) => make(keyValueStore(files), options))
  )

const defaultTable = "recourse_idempotency"

/**
 * The SQL that makes the ledger's table, for migrations of your own: use it with `layerSql({ create: false })`.
 *
 * @category getters
 * @since 0.2.0
 */
export const createTableSql = (dialect: Dialect, options?: { readonly table?: string | undefined }): string =>
  createSql(options?.table ?? defaultTable, columns, dialect)

/**
 * A ledger in an SQL table, for any number of processes: a key is claimed by a unique column. For PostgreSQL, SQLite, MySQL
 * and MariaDB.
 *
 * The table is created if it is missing, by one process if many start at once. It is checked at start: an unusable one
 * is a `ConfigurationError` with the statement to create it. The ledger refuses to record within a transaction of the
 * same client, because a rollback would lose completed calls. Expired entries stay until {@link purge} or {@link
 * layerPurge} deletes them.
 *
 * @category layers
 * @since 0.2.0
 */
export const layerSql = (
  options?: LeaseOptions & {
    /** Default: `"recourse_idempotency"`. May have a schema: `"agents.ledger"`. */
    readonly table?: string | undefined
    /** True if the layer creates a missing table. Default: true. */
    readonly create?: boolean | undefined
  }
): Layer.Layer<IdempotencyLedger, SqlError.SqlError | ConfigurationError, SqlClient.SqlClient> =>
  Layer.effect(
    IdempotencyLedger,
    Effect.flatMap(SqlClient.SqlClient, (client) => {
      const table = options?.table ?? defaultTable
      return Effect.as(
        prepareTable(client.withoutTransforms(), table, columns, {
          subject: "IdempotencyLedger.layerSql",
          create: options?.create
        }),
        make(sqlStore(client, table), options)
      )
    })
  )

/**
 * Deletes expired entries and returns their number. Redis expires them itself.
 *
 * @category running
 * @since 0.2.0
 */
export const purge: Effect.Effect<number, LedgerError, IdempotencyLedger> = Effect.flatMap(
  IdempotencyLedger,
  (ledger) => ledger.purge
)

/**
 * A layer that runs {@link purge} at start and then repeatedly, as long as the layer exists. Failures are logged.
 *
 * @category layers
 * @since 0.2.0
 */
export const layerPurge = (
  options?: {
    /** Default: 1 hour. */
    readonly every?: Duration.Input | undefined
  }
): Layer.Layer<never, never, IdempotencyLedger> => layerRepeatedly("The idempotency ledger", purge, options?.every)

/**
 * A ledger in Redis (or Valkey), for any number of processes: a key is claimed by a script. Needs the `Redis` service of
 * `effect/persistence`, such as `NodeRedis.layer` of `@effect/platform-node` makes. A result expires by Redis' own clock; an
 * entry that cannot be read is a `LedgerError`, and the tool does not run.
 *
 * Records are as durable as Redis is configured to be. For writes that must not be repeated: `appendfsync always`, no
 * reads from replicas, and `maxmemory-policy noeviction`. With any other policy Redis evicts results when its memory is
 * full, and their calls run again (`volatile-*` evicts exactly those). The layer reads the policy at start and refuses
 * it with a `ConfigurationError`. If the server does not report its policy, as some managed ones do not, the layer logs
 * that.
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
 *
 * @category layers
 * @since 0.2.0
 */
export const layerRedis = (
  options?: LeaseOptions & {
    /** Put before every key. Default: `"recourse:idempotency:"`. */
    readonly prefix?: string | undefined
    /** Accepts a server that evicts entries: completed calls may run again. Default: false. */
    readonly allowEviction?: boolean | undefined
  }
): Layer.Layer<IdempotencyLedger, ConfigurationError, Redis.Redis> =>
  Layer.effect(
    IdempotencyLedger,
    Effect.gen(function*() {
      const redis = yield* Redis.Redis
      const policy = yield* evictionPolicy(redis)
      if (policy === undefined) {
        yield* Effect.logWarning("Redis does not report its maxmemory-policy: the idempotency ledger needs noeviction")
      } else if (policy !== "noeviction" && options?.allowEviction !== true) {
        return yield* new ConfigurationError({
          subject: "IdempotencyLedger.layerRedis",
          problem: `maxmemory-policy is ${policy}, which lets Redis forget results: set it to noeviction`
        })
      }
      return make(redisStore(redis, options?.prefix ?? "recourse:idempotency:"), options)
    })
  )

/**
 * Store of durable runs: the runs, the steps that each has recorded, and the decisions about calls that wait.
 *
 * A runner claims a run by a lease and a number that grows with each claim. Late writes of a former owner are refused.
 */
import type { ConfigurationError } from "@recourse/core/ConfigurationError"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as SqlClient from "effect/sql/SqlClient"
import { memoryStore } from "./internal/memory/memoryStore.ts"
import { timeOf } from "./internal/store/requests.ts"
import { RunStoreError, type Store } from "./internal/store/store.ts"
import * as SqlWakeUps from "./internal/sql/host/sqlWakeUps.ts"
import { sqlStore } from "./internal/sql/sqlStore.ts"
import { check, create, createStatements, isLater, refuseOthers, tablesOf } from "./internal/sql/sqlTables.ts"

export {
  type Appended,
  type Claimable,
  type Committed,
  type Count,
  type Host,
  type Lease,
  type LeasedRun,
  type Leaving,
  type MessagePart,
  type NewRun,
  type Queue,
  type Reminder,
  type RunHistory,
  type RunLists,
  type RunLog,
  RunStoreError,
  type Settlement,
  type StartedRun,
  type Step,
  type Store,
  type StoredDecision,
  type StoredRun,
  type Take,
  type Taken,
  type WakeUp
} from "./internal/store/store.ts"

/**
 * Store of durable runs.
 *
 * **Example** (Runs of a store in memory)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { RunStore } from "@recourse/durable"
 *
 * const isEmpty = Effect.gen(function*() {
 *   const store = yield* RunStore.RunStore
 *   return (yield* store.list({})).length === 0
 * })
 *
 * await Effect.runPromise(isEmpty.pipe(Effect.provide(RunStore.layerMemory))) // => true
 * ```
 *
 * @category services
 * @since 0.2.0
 */
export class RunStore extends Context.Service<RunStore, Store>()("@recourse/durable/RunStore") {}

/**
 * A layer that keeps runs in memory: for tests, and for programs whose runs end with them.
 *
 * **Example** (Durable agents in a test)
 *
 * ```ts
 * import { Effect, Layer } from "effect"
 * import { Agent } from "@recourse/core"
 * import { Durable, RunStore } from "@recourse/durable"
 *
 * const Report = Durable.make(Agent.fromFunction("report", (day: string) => Effect.succeed(`Report of ${day}`)))
 * const Runners = Durable.layer([Report]).pipe(Layer.provide(RunStore.layerMemory))
 * ```
 *
 * @category layers
 * @since 0.2.0
 */
export const layerMemory: Layer.Layer<RunStore> = Layer.sync(RunStore, memoryStore)

/**
 * Names and creation of the tables.
 *
 * @category options
 * @since 0.2.0
 */
export interface SqlOptions {
  /** Prefix of the tables' names. Default: `"recourse"`. */
  readonly prefix?: string | undefined
  /** True if missing tables are created. Default: true. */
  readonly create?: boolean | undefined
}

/**
 * The SQL that makes the tables, for migrations of your own: use it with `create: false`. For PostgreSQL and SQLite.
 *
 * @category getters
 * @since 0.2.0
 */
export const createTableSql = (options?: Pick<SqlOptions, "prefix">): string =>
  createStatements(tablesOf(options?.prefix ?? "recourse")).map((statement) => `${statement};\n`).join("")

/**
 * A layer that keeps runs in a database: SQLite for one machine, PostgreSQL for several. The tables are created if they are
 * missing. Fails with `ConfigurationError` if the client is of another database, such as MySQL or MariaDB, and with `RunStoreError` if a later version has
 * written rows that this one cannot read.
 *
 * @category layers
 * @since 0.2.0
 */
export const layerSql = (
  options?: SqlOptions
): Layer.Layer<RunStore, RunStoreError | ConfigurationError, SqlClient.SqlClient> =>
  Layer.effect(
    RunStore,
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      yield* refuseOthers(sql, "RunStore.layerSql")
      const tables = tablesOf(options?.prefix ?? "recourse")
      if (options?.create !== false) {
        yield* Effect.mapError(create(sql, tables), (reason) => new RunStoreError({ operation: "create", reason }))
      }
      const failing = (operation: string) => (reason: unknown) => new RunStoreError({ operation, reason })
      yield* Effect.mapError(check(sql, tables), failing("check tables"))
      if (yield* Effect.mapError(isLater(sql, tables), failing("check format"))) {
        return yield* Effect.fail(failing("check format")("a downgrade"))
      }
      return sqlStore(sql, tables, yield* SqlWakeUps.make(sql, tables))
    })
  )

/**
 * Deletes runs that ended longer ago than `keepFor` (default: 30 days), and answers how many. Runs that wait are kept.
 *
 * @category running
 * @since 0.2.0
 */
export const purge = (
  options?: { readonly keepFor?: Duration.Input | undefined }
): Effect.Effect<number, RunStoreError, RunStore> =>
  Effect.flatMap(RunStore, (store) => {
    const keepFor = timeOf("RunStore.purge", "keepFor", options?.keepFor ?? "30 days", { atMost: Infinity })
    // All that has ended has ended since then.
    if (keepFor === Infinity) return Effect.succeed(0)
    const next = (count: number): Effect.Effect<number, RunStoreError> =>
      Effect.flatMap(store.purge(keepFor), (deleted) => deleted === 0 ? Effect.succeed(count) : next(count + deleted))
    return next(0)
  })

/**
 * A layer that runs {@link purge} at start and then repeatedly (default: each hour). Failures are logged.
 *
 * @category layers
 * @since 0.2.0
 */
export const layerPurge = (
  options?: { readonly keepFor?: Duration.Input | undefined; readonly every?: Duration.Input | undefined }
): Layer.Layer<never, never, RunStore> => {
  const once = Effect.catchCause(
    Effect.asVoid(purge(options)),
    (cause) => Effect.logWarning("Durable runs: old ones could not be deleted", cause)
  )
  const pause = timeOf("RunStore.layerPurge", "every", options?.every ?? "1 hour", { atLeast: 1 })
  return Layer.effectDiscard(Effect.forkScoped(Effect.forever(Effect.andThen(once, Effect.sleep(pause)))))
}

/**
 * Store of effect's circuit breakers in a database: a circuit that was open when its process was killed is open in the next one, and
 * in all others over the same database.
 */
import type { ConfigurationError } from "@recourse/core/ConfigurationError"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { CircuitBreakerStore } from "effect/persistence/CircuitBreaker"
import * as SqlClient from "effect/sql/SqlClient"
import { circuitsOf } from "./internal/circuit/circuits.ts"
import { createCircuits, sqlCircuits } from "./internal/sql/sqlCircuits.ts"
import { createUnderLock, refuseOthers } from "./internal/sql/sqlTables.ts"
import { timeOf } from "./internal/store/requests.ts"
import { RunStoreError } from "./RunStore.ts"

/**
 * Options of stored circuits.
 *
 * @category options
 * @since 0.2.0
 */
export interface SqlOptions {
  /** Prefix of the table's name. Default: `"recourse"`. */
  readonly prefix?: string | undefined
  /** True if a missing table is created. Default: true. */
  readonly create?: boolean | undefined
  /**
   * Lease of the call that probes a service, without renewal. After a crash of its process the next call probes.
   * Default: 10 seconds.
   */
  readonly probeLease?: Duration.Input | undefined
  /** A circuit without requests for so long is deleted: it is closed. Default: 1 hour. */
  readonly idleTimeToLive?: Duration.Input | undefined
}

const tableOf = (prefix = "recourse"): string => `${prefix}_circuits`

/**
 * The SQL that makes the table, for migrations of your own: use it with `create: false`. For PostgreSQL and SQLite.
 *
 * @category getters
 * @since 0.2.0
 */
export const createTableSql = (options?: Pick<SqlOptions, "prefix">): string =>
  `${createCircuits(tableOf(options?.prefix))};\n`

const subject = "CircuitStore.layerSql"

/**
 * A layer that stores the circuits of `Recovery.circuitBreaker` in a database, like the runs. A call of a healthy
 * service costs two look-ups; outcomes are written if they change the circuit. Fails with `ConfigurationError` if the
 * client is of another database than PostgreSQL or SQLite.
 *
 * **Example** (A circuit that is open for the next caller)
 *
 * ```ts
 * import { Effect, Layer } from "effect"
 * import { CircuitBreaker } from "effect/persistence"
 * import { CircuitStore } from "@recourse/durable"
 * import { NodeSqliteClient } from "@recourse/sql"
 *
 * const Store = CircuitStore.layerSql().pipe(Layer.provide(NodeSqliteClient.layer({ filename: ":memory:" })))
 * const breaker = CircuitBreaker.make({ tripPolicy: CircuitBreaker.consecutive(1), openDuration: "1 minute" })
 *
 * const program = Effect.gen(function*() {
 *   const before = yield* breaker
 *   yield* Effect.ignore(before.execute(Effect.fail("down"), { key: "bank" }))
 *   const after = yield* breaker
 *   return (yield* after.state("bank"))._tag
 * })
 * await Effect.runPromise(program.pipe(Effect.provide(Store), Effect.scoped)) // => "Open"
 * ```
 *
 * @category layers
 * @since 0.2.0
 */
export const layerSql = (
  options?: SqlOptions
): Layer.Layer<CircuitBreakerStore, RunStoreError | ConfigurationError, SqlClient.SqlClient> =>
  Layer.effect(
    CircuitBreakerStore,
    Effect.gen(function*() {
      const idleTimeToLive = timeOf(subject, "idleTimeToLive", options?.idleTimeToLive ?? "1 hour", { atLeast: 1 })
      const probeLease = timeOf(subject, "probeLease", options?.probeLease ?? "10 seconds", { atLeast: 1 })
      const sql = yield* SqlClient.SqlClient
      yield* refuseOthers(sql, subject)
      const table = tableOf(options?.prefix)
      const failing = (operation: string) => (reason: unknown) => new RunStoreError({ operation, reason })
      if (options?.create !== false) {
        yield* Effect.mapError(createUnderLock(sql, table, [createCircuits(table)]), failing("create"))
      }
      const { entries, forget } = sqlCircuits(sql, table)
      yield* Effect.mapError(forget, failing("check tables"))
      yield* Effect.forkScoped(Effect.forever(Effect.delay(Effect.ignore(forget), idleTimeToLive)))
      return circuitsOf(entries, {
        idleTimeToLive: Duration.millis(idleTimeToLive),
        probeLease: Duration.millis(probeLease)
      })
    })
  )

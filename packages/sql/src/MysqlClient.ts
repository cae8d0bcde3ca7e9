/**
 * MySQL and MariaDB client: effect's `SqlClient` over a pool of `mysql2`, which the program installs together with this
 * package.
 */
import * as Config from "effect/Config"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Reactivity from "effect/reactivity/Reactivity"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import * as SqlClient from "effect/sql/SqlClient"
import type { Acquirer, Connection } from "effect/sql/SqlConnection"
import * as SqlError from "effect/sql/SqlError"
import * as Statement from "effect/sql/Statement"
import * as Stream from "effect/Stream"
import type * as Mysql from "mysql2/promise"
import { classify } from "./internal/mysqlErrors.ts"

/**
 * Connection options of the server.
 *
 * @category options
 * @since 0.2.0
 */
export interface Options {
  /** The server's host. Default: `127.0.0.1`. */
  readonly host?: string | undefined
  /** The server's port. Default: 3306. */
  readonly port?: number | undefined
  /** The database. Default: none. */
  readonly database?: string | undefined
  /** The user. Default: none. */
  readonly username?: string | undefined
  /** The password of the user. Default: none. */
  readonly password?: Redacted.Redacted<string> | undefined
  /** Number of open connections. Default: 10. */
  readonly maxConnections?: number | undefined
  /** Time limit to open a connection. Default: 5 seconds. */
  readonly connectTimeout?: Duration.Input | undefined
}

const failed = (cause: unknown): SqlError.SqlError => new SqlError.SqlError({ reason: classify(cause) })

const bound = (value: unknown): Mysql.ExecuteValues => (value === undefined ? null : value) as Mysql.ExecuteValues

/** One connection, and how many of its queries have no answer yet. */
interface Session {
  readonly connection: Connection
  readonly isBusy: () => boolean
}

const sessionOf = (connection: Mysql.PoolConnection): Session => {
  let running = 0
  const ask = (run: () => Promise<readonly [unknown, unknown]>): Effect.Effect<unknown, SqlError.SqlError> =>
    Effect.tryPromise({
      try: () => {
        running++
        return run().then(([answer]) => answer).finally(() => running--)
      },
      catch: failed
    })
  const prepared = (sql: string, params: ReadonlyArray<unknown>) =>
    ask(() => connection.execute(sql, params.map(bound)))
  const unprepared = (sql: string, params: ReadonlyArray<unknown>) =>
    ask(() => connection.query(sql, params.map(bound)))
  const rowsBy = (run: typeof prepared): Connection["execute"] => (sql, params, transform) =>
    Effect.map(run(sql, params), (answer) => {
      const rows = Array.isArray(answer) ? answer as ReadonlyArray<any> : []
      return transform === undefined ? rows : transform(rows)
    })
  const valuesBy = (run: typeof prepared): Connection["executeValues"] => (sql, params) =>
    Effect.map(rowsBy(run)(sql, params, undefined), (rows) => rows.map((row) => Object.values(row as object)))
  const rows = rowsBy(prepared)
  return {
    isBusy: () => running > 0,
    connection: {
      execute: rows,
      executeUnprepared: rowsBy(unprepared),
      executeRaw: prepared,
      executeValues: valuesBy(prepared),
      executeValuesUnprepared: valuesBy(unprepared),
      executeStream: (sql, params, transform) =>
        Stream.unwrap(Effect.map(rows(sql, params, transform), Stream.fromIterable))
    }
  }
}

/** A connection of the pool. One whose query was interrupted is closed, because the next would read its answer. */
const acquirer = (pool: Mysql.Pool): Acquirer =>
  Effect.map(
    Effect.acquireRelease(
      Effect.tryPromise({
        try: () => pool.getConnection().then((pooled) => ({ pooled, session: sessionOf(pooled) })),
        catch: failed
      }),
      ({ pooled, session }) => Effect.sync(() => session.isBusy() ? pooled.destroy() : pooled.release())
    ),
    ({ session }) => session.connection
  )

const compiler = Statement.makeCompiler({
  dialect: "mysql",
  placeholder: () => "?",
  onIdentifier: Statement.defaultEscape("`"),
  onRecordUpdate: () => ["", []],
  onCustom: () => ["", []]
})

const unavailable = "MysqlClient needs the package mysql2, which cannot be loaded. Install it: npm install mysql2@3"

/** The driver is loaded when a client is made: SQLite does not need it. Bundlers accept its absence only with a `catch`. */
const driver = Effect.tryPromise({
  try: () => import("mysql2/promise").catch((cause: unknown) => Promise.reject(cause)),
  catch: (cause) => new SqlError.SqlError({ reason: new SqlError.UnknownError({ cause, message: unavailable }) })
})

/**
 * A client of a pool of connections, which are opened when they are needed.
 *
 * @category constructors
 * @since 0.2.0
 */
export const make = (
  options: Options
): Effect.Effect<SqlClient.SqlClient, SqlError.SqlError, Scope.Scope | Reactivity.Reactivity> =>
  Effect.gen(function*() {
    const mysql = yield* driver
    const pool = yield* Effect.acquireRelease(
      Effect.sync(() =>
        mysql.createPool({
          host: options.host ?? "127.0.0.1",
          port: options.port ?? 3306,
          ...(options.database === undefined ? undefined : { database: options.database }),
          ...(options.username === undefined ? undefined : { user: options.username }),
          ...(options.password === undefined ? undefined : { password: Redacted.value(options.password) }),
          connectionLimit: options.maxConnections ?? 10,
          connectTimeout: Duration.toMillis(Duration.fromInputUnsafe(options.connectTimeout ?? "5 seconds")),
          charset: "utf8mb4",
          timezone: "Z",
          supportBigNumbers: true
        })
      ),
      (pool) => Effect.ignore(Effect.tryPromise(() => pool.end()))
    )
    return yield* SqlClient.make({
      acquirer: acquirer(pool),
      compiler,
      driver: "mysql2",
      spanAttributes: [["db.system.name", "mysql"]]
    })
  })

/**
 * A layer with a client.
 *
 * **Example** (A client, and a query)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { SqlClient } from "effect/sql"
 * import { MysqlClient } from "@recourse/sql"
 *
 * const Database = MysqlClient.layer({ host: "db.internal", username: "orders", database: "orders" })
 *
 * export const openOrders = Effect.flatMap(
 *   SqlClient.SqlClient,
 *   (sql) => sql<{ readonly id: number }>`SELECT id FROM orders WHERE shipped = ${0}`
 * ).pipe(Effect.provide(Database))
 * ```
 *
 * @category layers
 * @since 0.2.0
 */
export const layer = (options: Options): Layer.Layer<SqlClient.SqlClient, SqlError.SqlError> =>
  Layer.effect(SqlClient.SqlClient, make(options)).pipe(Layer.provide(Reactivity.layer))

/**
 * {@link layer}, with options from the configuration.
 *
 * @category layers
 * @since 0.2.0
 */
export const layerConfig = (
  options: Config.Wrap<Options>
): Layer.Layer<SqlClient.SqlClient, Config.ConfigError | SqlError.SqlError> =>
  Layer.effect(SqlClient.SqlClient, Effect.flatMap(Config.unwrap(options), make)).pipe(
    Layer.provide(Reactivity.layer)
  )

/**
 * SQLite client: effect's `SqlClient` over Node's own `node:sqlite`. No native module to install. Node 22.19 or later.
 *
 * A database in a file is opened in WAL mode with a busy timeout, so that several processes can write to it.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Reactivity from "effect/reactivity/Reactivity"
import type * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import * as SqlClient from "effect/sql/SqlClient"
import type { Connection } from "effect/sql/SqlConnection"
import * as SqlError from "effect/sql/SqlError"
import * as Statement from "effect/sql/Statement"
import * as Stream from "effect/Stream"
import { blockedMillis, whenFree } from "./internal/sqliteLock.ts"
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite"

/**
 * Options to open a database.
 *
 * @category options
 * @since 0.2.0
 */
export interface Options {
  /** The path of the file, or `":memory:"`. */
  readonly filename: string
  /**
   * Wait of a statement for another writing process, before it fails with a `LockTimeoutError`. Other fibers run
   * meanwhile, unless they use the client. Default: 5 seconds.
   */
  readonly busyTimeout?: Duration.Input | undefined
  /** True if the file is read only. Default: false. */
  readonly readOnly?: boolean | undefined
}

/** Number of prepared statements. */
const mostStatements = 200

/** Node has the code of an error in `errcode`; effect reads `errno`. */
const failed = (cause: unknown, message?: string): SqlError.SqlError =>
  new SqlError.SqlError({
    reason: SqlError.classifySqliteError(
      cause instanceof Error && "errcode" in cause ? Object.assign(cause, { errno: cause.errcode }) : cause,
      { message }
    )
  })

const notOpened = (options: Partial<Options> | undefined, cause: unknown): SqlError.SqlError => {
  const filename: unknown = options?.filename
  const problem = typeof filename === "string"
    ? `The database ${JSON.stringify(filename)} cannot be opened: ${cause instanceof Error ? cause.message : "unknown"}`
    : "NodeSqliteClient needs the path of a file: { filename: \"shop.db\" }, or { filename: \":memory:\" }"
  return failed(cause, problem)
}

const bound = (value: unknown): SQLInputValue => {
  if (value === undefined) return null
  if (typeof value === "boolean") return value ? 1 : 0
  if (value instanceof Date) return value.toISOString()
  return value as SQLInputValue
}

const busyMillis = ({ busyTimeout = "5 seconds" }: Options): number =>
  Math.ceil(Duration.toMillis(Duration.fromInputUnsafe(busyTimeout)))

const open = (options: Options): DatabaseSync => {
  const database = new DatabaseSync(options.filename, { readOnly: options.readOnly ?? false })
  const busy = busyMillis(options)
  database.exec(`PRAGMA busy_timeout = ${busy}`)
  if (options.readOnly !== true && options.filename !== ":memory:") database.exec("PRAGMA journal_mode = WAL")
  database.exec(`PRAGMA busy_timeout = ${Math.min(busy, blockedMillis)}`)
  return database
}

/**
 * A client of one database. Statements run one at a time, and a transaction has the database to itself.
 *
 * @category constructors
 * @since 0.2.0
 */
export const make = (
  options: Options
): Effect.Effect<SqlClient.SqlClient, SqlError.SqlError, Scope.Scope | Reactivity.Reactivity> =>
  Effect.gen(function*() {
    const database = yield* Effect.acquireRelease(
      Effect.try({ try: () => open(options), catch: (cause) => notOpened(options, cause) }),
      (database) => Effect.sync(() => database.close())
    )
    const busy = busyMillis(options)
    const statements = new Map<string, StatementSync>()
    /** Prepares a statement once. SQLite prepares it again by itself if a table has changed. */
    const prepared = (sql: string): StatementSync => {
      const known = statements.get(sql)
      if (known !== undefined) return known
      const statement = database.prepare(sql)
      if (statements.size >= mostStatements) statements.delete(statements.keys().next().value!)
      statements.set(sql, statement)
      return statement
    }
    const all = (
      sql: string,
      params: ReadonlyArray<unknown>,
      prepare = prepared
    ): Effect.Effect<ReadonlyArray<any>, SqlError.SqlError> =>
      whenFree(Effect.try({ try: () => prepare(sql).all(...params.map(bound)), catch: failed }), busy)
    const rows: Connection["execute"] = (sql, params, transform) =>
      transform === undefined ? all(sql, params) : Effect.map(all(sql, params), transform)
    const unprepared: Connection["executeUnprepared"] = (sql, params, transform) => {
      const found = all(sql, params, (sql) => database.prepare(sql))
      return transform === undefined ? found : Effect.map(found, transform)
    }
    const values: Connection["executeValues"] = (sql, params) =>
      Effect.map(all(sql, params), (rows) => rows.map((row) => Object.values(row as object)))
    const connection: Connection = {
      execute: rows,
      executeUnprepared: unprepared,
      executeRaw: all,
      executeValues: values,
      executeValuesUnprepared: values,
      executeStream: (sql, params, transform) =>
        Stream.unwrap(Effect.map(rows(sql, params, transform), Stream.fromIterable))
    }
    return yield* SqlClient.make({
      ...SqlClient.makeSqliteAcquirers({
        connection: Effect.succeed(connection),
        semaphore: yield* Semaphore.make(1),
        isTransaction: () => database.isTransaction
      }),
      compiler: Statement.makeCompilerSqlite(),
      prepareTransactionControls: true,
      // A transaction that starts with a read fails at its first write if another process has written meanwhile.
      beginTransaction: "BEGIN IMMEDIATE",
      driver: "node-sqlite",
      spanAttributes: [["db.system.name", "sqlite"]]
    })
  })

/**
 * A layer with a client of one database.
 *
 * **Example** (A table in memory)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { SqlClient } from "effect/sql"
 * import { NodeSqliteClient } from "@recourse/sql"
 *
 * const count = Effect.gen(function*() {
 *   const sql = yield* SqlClient.SqlClient
 *   yield* sql`CREATE TABLE orders (id INTEGER)`
 *   yield* sql`INSERT INTO orders ${sql.insert([{ id: 1 }, { id: 2 }])}`
 *   return yield* sql<{ readonly n: number }>`SELECT COUNT(*) AS n FROM orders`
 * })
 *
 * const [row] = await Effect.runPromise(
 *   count.pipe(Effect.provide(NodeSqliteClient.layer({ filename: ":memory:" })))
 * )
 * row?.n // => 2
 * ```
 *
 * @category layers
 * @since 0.2.0
 */
export const layer = (options: Options): Layer.Layer<SqlClient.SqlClient, SqlError.SqlError> =>
  Layer.effect(SqlClient.SqlClient, make(options)).pipe(Layer.provide(Reactivity.layer))

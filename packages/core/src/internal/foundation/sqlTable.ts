/**
 * SQL tables: definitions as data, printed for each dialect, created once however many processes start, and checked at start.
 * PostgreSQL, SQLite, MySQL and MariaDB.
 */
import * as Effect from "effect/Effect"
import { constUndefined, identity } from "effect/Function"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type * as SqlClient from "effect/sql/SqlClient"
import type * as SqlError from "effect/sql/SqlError"
import type * as Statement from "effect/sql/Statement"
import { ConfigurationError } from "../../ConfigurationError.ts"

/**
 * The databases whose SQL is known.
 *
 * @category models
 * @since 0.2.0
 */
export type Dialect = "pg" | "sqlite" | "mysql"

/** `id`: 64 ASCII characters at most. `name`: 255 characters. `long`: any length. `millis`: milliseconds since the epoch. */
type ColumnType = "id" | "name" | "long" | "millis" | "flag"

interface Column {
  readonly type: ColumnType
  readonly isUnique?: true
  readonly isOptional?: true
  /** True if the column has an index, for searches of expired rows. */
  readonly isIndexed?: true
}

/** A table, without its name. */
export type Columns = Readonly<Record<string, Column>>

const types: Readonly<Record<ColumnType, string>> = {
  id: "VARCHAR(64)",
  name: "VARCHAR(255)",
  long: "TEXT",
  millis: "BIGINT",
  flag: "INTEGER"
}

const typeOf = (type: ColumnType, dialect: Dialect): string =>
  type === "long" && dialect === "mysql" ? "LONGTEXT" : types[type]

const lastPart = (table: string): string => table.slice(table.lastIndexOf(".") + 1)

const quoted = (name: string, quote: string): string =>
  name.split(".").map((part) => quote + part.replaceAll(quote, quote + quote) + quote).join(".")

/** Statements that create a missing table. */
export const createStatements = (table: string, columns: Columns, dialect: Dialect): ReadonlyArray<string> => {
  const quote = dialect === "mysql" ? "`" : "\""
  const indexes = Object.entries(columns).flatMap(([name, { isIndexed }]) =>
    isIndexed === true
      ? [{ column: name, index: quoted(`${lastPart(table)}_${name}`.replaceAll(".", "_"), quote) }]
      : []
  )
  // Unique, not a primary key: effect reports a violation of SQLite's primary key as any constraint, and a unique one
  // exactly.
  const lines = Object.entries(columns).map(([name, { isOptional, isUnique, type }]) =>
    `${name} ${typeOf(type, dialect)}${isOptional === true ? "" : " NOT NULL"}${isUnique === true ? " UNIQUE" : ""}`
  )
  const named = quoted(table, quote)
  if (dialect === "mysql") {
    const within = [...lines, ...indexes.map(({ column, index }) => `INDEX ${index} (${column})`)]
    return [
      `CREATE TABLE IF NOT EXISTS ${named} (\n  ${within.join(",\n  ")}\n)` +
      " CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"
    ]
  }
  return [
    `CREATE TABLE IF NOT EXISTS ${named} (\n  ${lines.join(",\n  ")}\n)`,
    ...indexes.map(({ column, index }) => {
      // An index of SQLite is in the schema of its table if it is named with it, and of PostgreSQL always.
      return `CREATE INDEX IF NOT EXISTS ${index} ON ${named} (${column}) WHERE ${column} IS NOT NULL`
    })
  ]
}

/** The SQL that makes a table, for people and migrations. */
export const createSql = (table: string, columns: Columns, dialect: Dialect): string =>
  createStatements(table, columns, dialect).map((statement) => `${statement};\n`).join("")

const dialectOf = (sql: SqlClient.SqlClient): Dialect =>
  sql.onDialectOrElse({ pg: () => "pg", mysql: () => "mysql", orElse: () => "sqlite" })

/**
 * Creates a table. On PostgreSQL under a lock, because it fails there if another client creates it at the same time.
 */
const create = (sql: SqlClient.SqlClient, table: string, columns: Columns): Effect.Effect<void, SqlError.SqlError> => {
  const dialect = dialectOf(sql)
  const statements = Effect.forEach(
    createStatements(table, columns, dialect),
    (statement) => sql.unsafe(statement).unprepared,
    { discard: true }
  )
  return dialect !== "pg" ? statements : sql.withTransaction(
    Effect.andThen(sql`SELECT pg_advisory_xact_lock(hashtext(${`recourse ${table}`}))`, statements)
  )
}

/** Reads no row of all columns: fails if the table, or one of them, is missing. */
const probe = (sql: SqlClient.SqlClient, table: string, columns: Columns) =>
  sql`SELECT ${sql.literal(Object.keys(columns).join(", "))} FROM ${sql(table)} WHERE 1 = 0`

const transient = new Set(["ConnectionError", "AuthenticationError"])

/** A statement was to be written within a transaction of the caller's. */
export class InTransaction extends Schema.TaggedError<InTransaction>()("InTransaction", {}) {
  override get message(): string {
    return "Records must be durable at once: do not run an agent within a transaction of the same client"
  }
}

/**
 * Runs an effect outside of transactions of the client. Within one it fails, because a rollback would lose the writes.
 */
export const durable = <A, E>(
  sql: SqlClient.SqlClient,
  effect: Effect.Effect<A, E>
): Effect.Effect<A, E | InTransaction> =>
  Effect.flatMap(
    Effect.serviceOption(sql.transactionService),
    (transaction): Effect.Effect<A, E | InTransaction> =>
      Option.isSome(transaction) ? Effect.fail(new InTransaction()) : effect
  )

/**
 * Makes sure that a table is there and has its columns; creates it if it is missing and `create` is not `false`. A role that
 * may not create tables can start if the table exists.
 */
export const prepareTable = (
  sql: SqlClient.SqlClient,
  table: string,
  columns: Columns,
  options: { readonly subject: string; readonly create?: boolean | undefined }
): Effect.Effect<void, SqlError.SqlError | ConfigurationError> => {
  const { subject } = options
  const refused = (problem: string) => Effect.fail(new ConfigurationError({ subject, problem }))
  const wrong = (
    error: SqlError.SqlError,
    created: SqlError.SqlError | undefined
  ): Effect.Effect<never, SqlError.SqlError | ConfigurationError> =>
    transient.has(error.reason._tag)
      ? Effect.fail(error)
      : refused(
        `the table ${table} cannot be read with the columns ${Object.keys(columns).join(", ")} (${error.message})` +
          (created === undefined ? "" : `, and cannot be created (${created.message})`) +
          `; it is made by:\n${createSql(table, columns, dialectOf(sql))}`
      )
  const made: Effect.Effect<unknown, SqlError.SqlError | ConfigurationError> = Effect.catch(
    Effect.asVoid(probe(sql, table, columns)),
    (missing) =>
      options.create === false || transient.has(missing.reason._tag)
        ? wrong(missing, undefined)
        : Effect.flatMap(
          Effect.match(create(sql, table, columns), { onFailure: identity, onSuccess: constUndefined }),
          (created) =>
            // Another client may have been faster, or the table may have had other columns all along.
            Effect.catch(
              Effect.asVoid(probe(sql, table, columns)),
              (error) => wrong(error, created)
            )
        )
  )
  return Effect.asVoid(
    Effect.catchTag(durable(sql, made), "InTransaction", () => refused("do not build this layer within a transaction"))
  )
}

/** The database's clock, in milliseconds since the epoch. */
export const nowMillis = (sql: SqlClient.SqlClient): Statement.Fragment =>
  sql.literal(
    sql.onDialectOrElse({
      pg: () => "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)",
      mysql: () => "(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000)",
      orElse: () => "CAST(ROUND((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)"
    })
  )

/** True if statements can return the changed rows. */
export const hasReturning = (sql: SqlClient.SqlClient): boolean => dialectOf(sql) !== "mysql"

const batch = 1000

/** Deletes the rows whose time in `column` has come, some at a time, and answers how many. */
export const deleteExpired = (
  sql: SqlClient.SqlClient,
  table: string,
  key: string,
  column: string,
  until: Statement.Fragment = nowMillis(sql)
): Effect.Effect<number, SqlError.SqlError> => {
  const due = sql`SELECT ${sql(key)} AS id FROM ${sql(table)} WHERE ${sql(column)} <= ${until} LIMIT ${
    sql.literal(String(batch))
  }`
  const next = (count: number): Effect.Effect<number, SqlError.SqlError> =>
    Effect.flatMap(
      due as unknown as Effect.Effect<ReadonlyArray<{ readonly id: string }>, SqlError.SqlError>,
      (rows) => {
        if (rows.length === 0) return Effect.succeed(count)
        const ids = rows.map(({ id }) => id)
        return Effect.flatMap(
          sql`DELETE FROM ${sql(table)} WHERE ${sql.in(key, ids)} AND ${sql(column)} <= ${until}`,
          () => next(count + rows.length)
        )
      }
    )
  return next(0)
}

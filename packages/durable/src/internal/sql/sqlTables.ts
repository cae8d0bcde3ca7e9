/** The tables of durable runs, for PostgreSQL and SQLite. */
import { ConfigurationError } from "@recourse/core/ConfigurationError"
import * as Effect from "effect/Effect"
import type * as SqlClient from "effect/sql/SqlClient"
import type * as SqlError from "effect/sql/SqlError"

/** Names of the tables. */
export interface Tables {
  readonly runs: string
  readonly steps: string
  readonly decisions: string
  readonly queues: string
  readonly signals: string
  readonly messages: string
}

export const tablesOf = (prefix: string): Tables => ({
  runs: `${prefix}_runs`,
  steps: `${prefix}_steps`,
  decisions: `${prefix}_decisions`,
  queues: `${prefix}_queues`,
  signals: `${prefix}_signals`,
  messages: `${prefix}_messages`
})

/** Format of the rows. Increase it when earlier versions cannot read the rows that this one writes: they refuse to start over them. */
export const format = 1

/** The row among those of the queues that has the format: tables that were created before formats have none. */
const formatRow = "~format"

/** The statements that create the tables alone. */
const tableStatements = (
  { decisions, messages, queues, runs, signals, steps }: Tables
): ReadonlyArray<string> => [
  `CREATE TABLE IF NOT EXISTS ${runs} (
  run_id VARCHAR(255) PRIMARY KEY,
  agent VARCHAR(255) NOT NULL,
  version VARCHAR(255) NOT NULL,
  owner VARCHAR(255),
  parent_id VARCHAR(255),
  trace VARCHAR(64),
  status VARCHAR(16) NOT NULL,
  epoch INTEGER NOT NULL,
  leg INTEGER NOT NULL,
  is_cancelled INTEGER NOT NULL,
  lent INTEGER NOT NULL,
  leased_until BIGINT NOT NULL,
  renewed_at BIGINT NOT NULL,
  ran BIGINT NOT NULL,
  read_until BIGINT NOT NULL,
  wake_at BIGINT NOT NULL,
  asked INTEGER NOT NULL,
  asked_of VARCHAR(255),
  started_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  input TEXT NOT NULL,
  pending TEXT NOT NULL,
  snapshot TEXT,
  outcome TEXT
)`,
  `CREATE INDEX IF NOT EXISTS ${runs}_claim ON ${runs} (leased_until, started_at) WHERE status IN ('queued', 'running')`,
  `CREATE INDEX IF NOT EXISTS ${runs}_cancelled ON ${runs} (leased_until, started_at) WHERE status IN ('queued', 'running') AND is_cancelled = 1`,
  `CREATE INDEX IF NOT EXISTS ${runs}_started ON ${runs} (status, started_at)`,
  `CREATE INDEX IF NOT EXISTS ${runs}_wake ON ${runs} (wake_at) WHERE status = 'waiting' AND wake_at > 0`,
  `CREATE INDEX IF NOT EXISTS ${runs}_parent ON ${runs} (parent_id) WHERE parent_id IS NOT NULL`,
  `CREATE INDEX IF NOT EXISTS ${runs}_newest ON ${runs} (started_at, run_id)`,
  `CREATE INDEX IF NOT EXISTS ${runs}_owner ON ${runs} (owner, started_at, run_id) WHERE owner IS NOT NULL`,
  `CREATE TABLE IF NOT EXISTS ${steps} (
  run_id VARCHAR(255) NOT NULL,
  position INTEGER NOT NULL,
  epoch INTEGER NOT NULL,
  leg INTEGER NOT NULL,
  kind VARCHAR(16) NOT NULL,
  key TEXT NOT NULL,
  value TEXT NOT NULL,
  elapsed BIGINT NOT NULL,
  first_event INTEGER NOT NULL,
  event_count INTEGER NOT NULL,
  events TEXT NOT NULL,
  PRIMARY KEY (run_id, position)
)`,
  `CREATE TABLE IF NOT EXISTS ${decisions} (
  run_id VARCHAR(255) NOT NULL,
  leg INTEGER NOT NULL,
  call_id VARCHAR(255) NOT NULL,
  is_used INTEGER NOT NULL,
  decision TEXT NOT NULL,
  PRIMARY KEY (run_id, leg, call_id)
)`,
  `CREATE TABLE IF NOT EXISTS ${queues} (
  agent VARCHAR(255) PRIMARY KEY,
  busy_until BIGINT NOT NULL
)`,
  `CREATE TABLE IF NOT EXISTS ${signals} (
  run_id VARCHAR(255) NOT NULL,
  name VARCHAR(255) NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (run_id, name)
)`,
  `CREATE TABLE IF NOT EXISTS ${messages} (
  run_id VARCHAR(255) NOT NULL,
  part INTEGER NOT NULL,
  id VARCHAR(64) NOT NULL,
  parent VARCHAR(64),
  size INTEGER NOT NULL,
  messages TEXT NOT NULL,
  PRIMARY KEY (run_id, part)
)`,
  `CREATE INDEX IF NOT EXISTS ${messages}_id ON ${messages} (id)`,
  `CREATE INDEX IF NOT EXISTS ${messages}_parent ON ${messages} (parent) WHERE parent IS NOT NULL`
]

/** The statements that create missing tables, and raise their format to the one of this version. */
export const createStatements = (tables: Tables): ReadonlyArray<string> => [
  ...tableStatements(tables),
  `INSERT INTO ${tables.queues} (agent, busy_until) VALUES ('${formatRow}', ${format})
ON CONFLICT (agent) DO UPDATE SET busy_until = EXCLUDED.busy_until WHERE ${tables.queues}.busy_until < EXCLUDED.busy_until`
]

/** Refuses a database whose SQL the stores do not know, before a statement is sent to it. */
export const refuseOthers = (sql: SqlClient.SqlClient, subject: string): Effect.Effect<void, ConfigurationError> => {
  const refused = (name: string) =>
    Effect.fail(
      new ConfigurationError({
        subject,
        problem: `it cannot store in ${name}. PostgreSQL and SQLite are supported: give it a client of one of them`
      })
    )
  return sql.onDialectOrElse({
    pg: () => Effect.void,
    sqlite: () => Effect.void,
    mysql: () => refused("MySQL or MariaDB"),
    mssql: () => refused("SQL Server"),
    clickhouse: () => refused("ClickHouse"),
    orElse: () => refused("this database")
  })
}

/**
 * Creates tables. On PostgreSQL under a lock, because it fails there if another client creates them at the same time.
 */
export const createUnderLock = (
  sql: SqlClient.SqlClient,
  name: string,
  texts: ReadonlyArray<string>
): Effect.Effect<void, SqlError.SqlError> => {
  const statements = Effect.forEach(texts, (text) => sql.unsafe(text).unprepared, { discard: true })
  return sql.onDialectOrElse({
    pg: () =>
      sql.withTransaction(
        Effect.andThen(sql`SELECT pg_advisory_xact_lock(hashtext(${`recourse ${name}`}))`, statements)
      ),
    orElse: () => statements
  })
}

/** Makes the tables of runs. */
export const create = (sql: SqlClient.SqlClient, tables: Tables): Effect.Effect<void, SqlError.SqlError> =>
  createUnderLock(sql, tables.runs, createStatements(tables))

/** The columns of each table, in its statement. */
const columnsOf = (statement: string): ReadonlyArray<string> =>
  statement.split("\n").flatMap((line) => /^ {2}([a-z_]+) /.exec(line)?.[1] ?? [])

/** Checks that the tables are of this version: fails if one, or a column of one, is missing. */
export const check = (sql: SqlClient.SqlClient, tables: Tables): Effect.Effect<void, SqlError.SqlError> =>
  Effect.forEach(createStatements(tables), (statement) => {
    const table = /^CREATE TABLE IF NOT EXISTS (\S+)/.exec(statement)?.[1]
    return table === undefined
      ? Effect.void
      : sql.unsafe(`SELECT ${columnsOf(statement).join(", ")} FROM ${table} WHERE 1 = 0`).unprepared
  }, { discard: true })

/** Whether a later version has written rows that this one cannot read. */
export const isLater = (sql: SqlClient.SqlClient, { queues }: Tables): Effect.Effect<boolean, SqlError.SqlError> =>
  Effect.map(
    sql<{ readonly format: number | string }>`SELECT busy_until AS format FROM ${
      sql(queues)
    } WHERE agent = ${formatRow}`,
    ([row]) => Number(row?.format ?? format) > format
  )

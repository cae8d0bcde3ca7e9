/** The tables of an index, for PostgreSQL and SQLite. */
import * as Effect from "effect/Effect"
import type * as SqlClient from "effect/sql/SqlClient"
import type * as SqlError from "effect/sql/SqlError"

/** The statements that create missing tables. */
export const createStatements = (table: string): ReadonlyArray<string> => [
  `CREATE TABLE IF NOT EXISTS ${table}_runs (
  run_id VARCHAR(255) PRIMARY KEY,
  agent VARCHAR(255) NOT NULL,
  owner VARCHAR(255),
  status VARCHAR(16) NOT NULL,
  started_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  words TEXT NOT NULL,
  likeness TEXT NOT NULL,
  pending INTEGER NOT NULL,
  waiting_since BIGINT NOT NULL,
  worked BIGINT NOT NULL,
  cost DOUBLE PRECISION NOT NULL,
  tokens BIGINT NOT NULL,
  retries INTEGER NOT NULL,
  fixes INTEGER NOT NULL,
  undone INTEGER NOT NULL,
  code VARCHAR(255),
  summary TEXT NOT NULL
)`,
  `CREATE INDEX IF NOT EXISTS ${table}_runs_started ON ${table}_runs (started_at, run_id)`,
  `CREATE INDEX IF NOT EXISTS ${table}_runs_open ON ${table}_runs (status) WHERE status IN ('queued', 'running', 'waiting')`,
  `CREATE TABLE IF NOT EXISTS ${table}_calls (
  run_id VARCHAR(255) NOT NULL,
  span_id VARCHAR(700) NOT NULL,
  tool VARCHAR(255) NOT NULL,
  at BIGINT NOT NULL,
  is_failure INTEGER NOT NULL,
  code VARCHAR(255),
  is_retried INTEGER NOT NULL,
  is_fixed INTEGER NOT NULL,
  is_fallback INTEGER NOT NULL,
  is_escalated INTEGER NOT NULL,
  state VARCHAR(16),
  entry VARCHAR(64),
  facts TEXT NOT NULL,
  PRIMARY KEY (run_id, span_id)
)`,
  `CREATE INDEX IF NOT EXISTS ${table}_calls_state ON ${table}_calls (state, at) WHERE state IS NOT NULL`,
  `CREATE INDEX IF NOT EXISTS ${table}_calls_entry ON ${table}_calls (entry) WHERE entry IS NOT NULL`,
  `CREATE TABLE IF NOT EXISTS ${table}_checks (
  run_id VARCHAR(255) NOT NULL,
  span_id VARCHAR(700) NOT NULL,
  at BIGINT NOT NULL,
  facts TEXT NOT NULL,
  PRIMARY KEY (run_id, span_id)
)`
]

/** Makes the tables. Two processes that do so at once may collide: the second time they are there. */
export const prepareIndex = (sql: SqlClient.SqlClient, table: string): Effect.Effect<void, SqlError.SqlError> =>
  Effect.retry(
    Effect.forEach(createStatements(table), (statement) => sql.unsafe(statement), { discard: true }),
    { times: 2 }
  )

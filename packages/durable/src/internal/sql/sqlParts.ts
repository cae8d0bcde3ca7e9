/** Common parts of all operations of the SQL store. */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import type * as SqlClient from "effect/sql/SqlClient"
import type * as SqlError from "effect/sql/SqlError"
import type * as Statement from "effect/sql/Statement"
import * as Compensation from "@recourse/core/Compensation"
import { type Lease, RunStoreError, type StoredRun } from "../store/store.ts"
import { sqlStates } from "./host/sqlStates.ts"
import type { TransitionName } from "../../HostStates.ts"
import type { SqlWakeUps } from "./host/sqlWakeUps.ts"
import { runOf, type RunRow } from "./sqlRows.ts"
import { sqlSharedCommits } from "./sqlSharedCommits.ts"
import type { Tables } from "./sqlTables.ts"

/** Rows that a statement answers. */
export type Rows<A> = Effect.Effect<ReadonlyArray<A>, SqlError.SqlError>

/** The end of the name of an agent that compensates. `LIKE` of SQLite looks at no case. */
const compensation = Compensation.nameOf("")

/** JSON as text. */
export const text = (value: Schema.Json | undefined): string | null =>
  value === undefined ? null : JSON.stringify(value)

/** Milliseconds since the epoch, by the database's clock. */
export const nowOf = (sql: SqlClient.SqlClient): Statement.Fragment =>
  sql.literal(sql.onDialectOrElse({
    pg: () => "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)",
    orElse: () => "CAST(ROUND((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)"
  }))

/** The client, the tables, and the words that the dialects say differently. */
export const partsOf = (client: SqlClient.SqlClient, tables: Tables, wakeUps: SqlWakeUps) => {
  const sql = client.withoutTransforms()
  const states = sqlStates(sql)
  const commits = sqlSharedCommits(sql)
  const isPg = sql.onDialectOrElse({ pg: () => true, orElse: () => false })
  const runs = sql(tables.runs)
  const rows = <A>(statement: Statement.Statement<object>): Rows<A> => statement as unknown as Rows<A>
  /** The row of the run itself, and not of one with its id after a purge. */
  const isRun = ({ runId, startedAt }: Pick<Lease, "runId" | "startedAt">) =>
    startedAt === undefined ? sql`run_id = ${runId}` : sql`run_id = ${runId} AND started_at = ${startedAt}`
  const failing = <A, E>(operation: string, effect: Effect.Effect<A, E>): Effect.Effect<A, RunStoreError> =>
    // A transaction that cannot be rolled back, because its connection is gone, is a defect of the client.
    Effect.catchCause(effect, (cause) =>
      Cause.hasInterrupts(cause)
        ? Effect.interrupt
        : Effect.fail(new RunStoreError({ operation, reason: Cause.squash(cause) })))
  return {
    sql,
    isPg,
    runs,
    steps: sql(tables.steps),
    decisions: sql(tables.decisions),
    queues: sql(tables.queues),
    signals: sql(tables.signals),
    messages: sql(tables.messages),
    rows,
    failing,
    now: nowOf(sql),
    /** True for a row that compensates a write of another run, which is stored as its parent. */
    isCompensation: (row: Statement.Identifier = runs) =>
      sql`substr(${row}.agent, length(${row}.agent) - ${compensation.length - 1}) = ${compensation}`,
    lock: sql.literal(isPg ? "FOR UPDATE" : ""),
    inTransaction: <A, E>(operation: string, effect: Effect.Effect<A, E>) =>
      failing(operation, commits.transaction(effect)),
    inStatement: commits.statement,
    getRow: (runId: string): Effect.Effect<StoredRun | undefined, SqlError.SqlError> =>
      Effect.map(
        rows<RunRow>(sql`SELECT * FROM ${runs} WHERE run_id = ${runId}`),
        ([row]) => row === undefined ? undefined : runOf(row)
      ),
    states,
    wakeUps,
    isRun,
    /** The row of a run that an epoch owns, if a transition starts in its state. */
    fenced: (name: TransitionName, hold: Lease) =>
      sql`${isRun(hold)} AND epoch = ${hold.epoch} AND ${states.from(name)}`,
    insertOf: (rows: ReadonlyArray<Record<string, unknown>>) =>
      sql.insert(rows as readonly [Record<string, unknown>, ...ReadonlyArray<Record<string, unknown>>])
  }
}

/** Common parts of all operations of the SQL store. */
export type Parts = ReturnType<typeof partsOf>

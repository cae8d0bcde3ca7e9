/**
 * Approvals: a paused run as a value.
 *
 * A call that needs an approval is not executed. When the other calls of the same answer are completed, the run pauses
 * with a {@link Snapshot}: plain JSON, which any process with the same agent and the same key can resume. Decisions are
 * about the exact arguments that were shown, and expire.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as SqlClient from "effect/sql/SqlClient"
import type * as SqlError from "effect/sql/SqlError"
import type { ConfigurationError } from "./ConfigurationError.ts"
import { sqlResumptions } from "./internal/approval/sqlResumptions.ts"
import { layerRepeatedly } from "./internal/foundation/effect/repeatLayer.ts"
import { anInterval, durationOf } from "./internal/foundation/options/optionCheck.ts"
import {
  type Columns,
  createSql,
  deleteExpired,
  type Dialect,
  nowMillis,
  prepareTable
} from "./internal/foundation/sqlTable.ts"
import { Resumptions } from "./internal/approval/snapshot.ts"
export { type UncompensatedWrite, uncompensatedWrites } from "./internal/agent/compensation/uncompensatedWrites.ts"
export { interactive } from "./internal/agent/resume/interactive.ts"
export {
  approve,
  type DecidedBy,
  Decision,
  type DecisionSchema,
  decodeDecisions,
  edit,
  fail,
  reject,
  respond
} from "./internal/approval/decision.ts"
export {
  Definitions,
  type DefinitionsSchema,
  Explanation,
  type ExplanationSchema,
  PartState
} from "./internal/approval/definitions.ts"
export {
  ApprovalRequired,
  Completed,
  DecisionRefused,
  type Outcome,
  Paused,
  SnapshotRefused
} from "./internal/approval/outcome.ts"
export {
  type ClaimedSnapshot,
  NestedRun,
  type NestedRunSchema,
  PendingCall,
  type Resumption,
  type ResumptionFate,
  Resumptions,
  type ResumptionStore,
  Snapshot,
  type SnapshotSchema,
  version
} from "./internal/approval/snapshot.ts"
export { layerKey, SnapshotKey, type SnapshotKeys } from "./internal/approval/snapshotKey.ts"
export { mayHaveStarted } from "./internal/approval/waitsWithin.ts"
export { terminal } from "./internal/console/terminal.ts"

/** The table of resumed snapshots. */
const columns: Columns = {
  snapshot_id: { type: "id", isUnique: true },
  claim: { type: "id" },
  claimed_at: { type: "millis", isIndexed: true },
  leased_until: { type: "millis" },
  ended_at: { type: "millis", isOptional: true }
}

const defaultTable = "recourse_resumptions"

/**
 * The SQL that makes the table of resumed snapshots, for migrations of your own: use it with `create: false`.
 *
 * @category getters
 * @since 0.2.0
 */
export const createTableSql = (dialect: Dialect, options?: { readonly table?: string | undefined }): string =>
  createSql(options?.table ?? defaultTable, columns, dialect)

/**
 * A layer that remembers resumed snapshots in a table, so that of several processes one resumes. The table is created if it is
 * missing, and checked at start. For PostgreSQL, SQLite, MySQL and MariaDB.
 *
 * A resumed run holds its snapshot by a lease that it renews, by the database's clock. When its process ends before the run
 * does, the snapshot can be resumed again after the lease: calls with an idempotency key run at most once, by the ledger; an
 * approved write without one is not run again (`SnapshotRefused`, `abandoned`).
 *
 * A database that cannot be written ends the run before any execution. So does a transaction of the same client,
 * because a rollback would lose the record that the snapshot was used.
 *
 * @category layers
 * @since 0.2.0
 */
export const layerResumptionsSql = (
  options?: {
    /** Default: `"recourse_resumptions"`. */
    readonly table?: string | undefined
    /** True if the layer creates a missing table. Default: true. */
    readonly create?: boolean | undefined
    /** Lease of a claimed snapshot after the last renewal. Default: 30 seconds. */
    readonly lease?: Duration.Input | undefined
  }
): Layer.Layer<never, SqlError.SqlError | ConfigurationError, SqlClient.SqlClient> => {
  const subject = "Approval.layerResumptionsSql"
  const lease = durationOf(subject, "lease", options?.lease, "30 seconds", anInterval)
  return Layer.effect(
    Resumptions,
    Effect.gen(function*() {
      const sql = (yield* SqlClient.SqlClient).withoutTransforms()
      const name = options?.table ?? defaultTable
      yield* prepareTable(sql, name, columns, { subject, create: options?.create })
      return { claim: sqlResumptions(sql, name, lease) }
    })
  )
}

/**
 * Deletes the records of snapshots that were resumed longer ago than `keepFor` (default: 90 days), and answers how many. Such
 * a snapshot could be resumed again: keep the records for longer than approvals are valid.
 *
 * @category running
 * @since 0.2.0
 */
export const purgeResumptionsSql = (
  options?: { readonly table?: string | undefined; readonly keepFor?: Duration.Input | undefined }
): Effect.Effect<number, SqlError.SqlError, SqlClient.SqlClient> => {
  const keepFor = Duration.toMillis(durationOf("Approval.purgeResumptionsSql", "keepFor", options?.keepFor, "90 days"))
  return Effect.flatMap(SqlClient.SqlClient, (client) => {
    const sql = client.withoutTransforms()
    const until = sql`${nowMillis(sql)} - ${keepFor}`
    return deleteExpired(sql, options?.table ?? defaultTable, "snapshot_id", "claimed_at", until)
  })
}

/**
 * A layer that runs {@link purgeResumptionsSql} at start and then repeatedly (default: each hour). Failures are logged.
 *
 * @category layers
 * @since 0.2.0
 */
export const layerPurgeResumptionsSql = (
  options?: Parameters<typeof purgeResumptionsSql>[0] & { readonly every?: Duration.Input | undefined }
): Layer.Layer<never, never, SqlClient.SqlClient> =>
  layerRepeatedly("Approval's resumptions", purgeResumptionsSql(options), options?.every)

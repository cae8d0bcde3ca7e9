/**
 * Approval: a run that waits for a person, as a value.
 *
 * A call that needs an approval is not executed; when the other calls of the same answer are done, the run stops and what
 * is needed to go on is a {@link Snapshot}: plain JSON, to be kept anywhere and resumed in any process that has the same
 * agent and the same key. Decisions are about the exact arguments that were shown, and expire.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as SqlClient from "effect/sql/SqlClient"
import { Resumptions } from "./internal/approval/snapshot.ts"
export { approve, type By, Decision, decodeDecisions, edit, reject, respond } from "./internal/approval/decision.ts"
export {
  ApprovalRequired,
  Completed,
  DecisionRefused,
  type Outcome,
  Paused,
  SnapshotRefused
} from "./internal/approval/outcome.ts"
export { Checkpoint, NestedRun, PendingCall, Resumptions, Snapshot, version } from "./internal/approval/snapshot.ts"
export { layerKey, SnapshotKey, type SnapshotKeys } from "./internal/approval/snapshotKey.ts"

/**
 * A layer that remembers resumed snapshots in a table, which it creates where there is none, so that of several processes
 * one resumes. For databases with `ON CONFLICT DO NOTHING RETURNING` (PostgreSQL, SQLite). Default name of the table:
 * `recourse_resumptions`. A database that cannot be written ends the run before anything is executed.
 */
export const layerResumptionsSql = (
  options?: { readonly table?: string | undefined }
): Layer.Layer<never, never, SqlClient.SqlClient> =>
  Layer.effect(
    Resumptions,
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const table = options?.table ?? "recourse_resumptions"
      yield* Effect.orDie(sql`CREATE TABLE IF NOT EXISTS ${sql(table)} (snapshot_id TEXT PRIMARY KEY)`)
      return {
        release: (snapshotId: string) =>
          Effect.asVoid(Effect.orDie(sql`DELETE FROM ${sql(table)} WHERE snapshot_id = ${snapshotId}`)),
        claim: (snapshotId: string) =>
          Effect.map(
            Effect.orDie(
              sql`INSERT INTO ${sql(table)} ${
                sql.insert({ snapshot_id: snapshotId })
              } ON CONFLICT DO NOTHING RETURNING snapshot_id`
            ),
            (rows) => rows.length === 1
          )
      }
    })
  )

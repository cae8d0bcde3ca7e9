/** Decisions of a host in SQL: the operation `decide`, and the decisions that an owner reads. */
import * as Effect from "effect/Effect"
import { fitted } from "../../store/requests.ts"
import { type Parts, text } from "../sqlParts.ts"
import { decisionOf, type RunRow } from "../sqlRows.ts"
import type { Host, Lease } from "../../store/store.ts"

/** Makes the operations. */
export const sqlDecide = (
  { decisions, fenced, inStatement, inTransaction, insertOf, isPg, lock, now, rows, runs, sql, states }: Parts
) => {
  /**
   * Fixes the decisions of a segment for its owner: those that an earlier owner has read, or all. One statement sees one
   * state on SQLite; on PostgreSQL it sees the state before it waited for a lock, so there the run is locked first.
   */
  const fixedAtOnce = (hold: Lease, segment: number) => {
    const ofSegment = sql`run_id = ${hold.runId} AND leg = ${segment}`
    return rows<{ readonly call_id: string; readonly decision: string }>(sql`
      UPDATE ${decisions} SET is_used = 1 WHERE ${ofSegment}
        AND EXISTS (SELECT 1 FROM ${runs} WHERE ${fenced("release", hold)})
        AND (is_used = 1 OR NOT EXISTS (SELECT 1 FROM ${decisions} WHERE ${ofSegment} AND is_used = 1))
        RETURNING call_id, decision`)
  }

  /** The decisions of a segment: fixed when they are first read by an owner. */
  const fixed = (hold: Lease, segment: number) => {
    const all = isPg
      ? sql.withTransaction(Effect.andThen(
        sql`SELECT run_id FROM ${runs} WHERE ${fenced("release", hold)} ${lock}`,
        fixedAtOnce(hold, segment)
      ))
      : inStatement(fixedAtOnce(hold, segment))
    return Effect.map(
      all,
      (found) =>
        found.toSorted((one, other) => one.call_id < other.call_id ? -1 : 1).map(({ decision }) => decisionOf(decision))
    )
  }

  const decide: Host["decide"] = (runId, segment, decided) =>
    inTransaction(
      "decide",
      Effect.gen(function*() {
        const [run] = yield* rows<Pick<RunRow, "leg">>(sql`SELECT leg FROM ${runs} WHERE run_id = ${runId} ${lock}`)
        if (run?.leg !== segment) return { decidedBefore: decided[0]?.callId }
        // Models make the ids of calls: of any length, and of any characters.
        const ids = yield* Effect.forEach(decided, ({ callId }) => fitted(callId))
        const [before] = yield* rows<{ readonly call_id: string }>(
          sql`SELECT call_id FROM ${decisions} WHERE run_id = ${runId} AND leg = ${segment} AND ${
            sql.in("call_id", ids)
          }`
        )
        if (before !== undefined) return { decidedBefore: decided[ids.indexOf(before.call_id)]?.callId }
        yield* sql`INSERT INTO ${decisions} ${
          insertOf(decided.map(({ decision }, index) => ({
            run_id: runId,
            leg: segment,
            call_id: ids[index],
            is_used: 0,
            decision: text(decision)
          })))
        }`
        yield* sql`UPDATE ${runs} SET ${
          states.to("decide")
        }, asked_of = NULL, updated_at = ${now} WHERE run_id = ${runId}
          AND ${states.from("decide")}`
        return { decidedBefore: undefined }
      })
    )
  return { decide, fixed }
}

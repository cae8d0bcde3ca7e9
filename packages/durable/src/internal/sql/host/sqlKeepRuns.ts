/** Renewal of leases in SQL. */
import * as Effect from "effect/Effect"
import type * as SqlError from "effect/sql/SqlError"
import type { Parts } from "../sqlParts.ts"
import type { RunRow } from "../sqlRows.ts"
import type { Lease, LeasedRun, Take } from "../../store/store.ts"
import type { sqlQueueSlots } from "./sqlQueueSlots.ts"

type LeasedRow = Pick<RunRow, "run_id" | "epoch" | "is_cancelled" | "started_at"> & {
  readonly lent: number
  readonly is_read: number | boolean
}

/** Makes the operation. */
export const sqlKeepRuns = (
  { fenced, now, rows, runs, sql, states }: Parts,
  { locked, placed }: ReturnType<typeof sqlQueueSlots>
) => {
  /** Takes the place of a run in the queue of its agent back, if one is free. Until then no run takes one that is not further. */
  const regain = (hold: Lease, place: number) =>
    sql.withTransaction(Effect.gen(function*() {
      const [run] = yield* rows<Pick<RunRow, "agent">>(
        sql`UPDATE ${runs} SET ${states.to("request")} WHERE ${fenced("request", hold)} RETURNING agent`
      )
      if (run === undefined) return
      yield* locked(run.agent)
      if ((yield* placed(run.agent, sql`lent = 0`)) >= place) return
      yield* sql`UPDATE ${runs} SET ${states.to("regain")} WHERE ${fenced("regain", hold)}`
    }))

  /** Time since the last renewal, within the lease: a process that was frozen, or a clock that was set, adds no more. */
  const owned = sql`CASE WHEN ${now} < renewed_at OR leased_until < renewed_at THEN 0
    WHEN ${now} < leased_until THEN ${now} - renewed_at ELSE leased_until - renewed_at END`

  /** Keeps runs, in one statement. A run that another process owns by now is renewed for that one, at most once. */
  return Effect.fnUntraced(function*(
    { leases = [], leaseMillis }: Take
  ): Effect.fn.Return<ReadonlyArray<LeasedRun>, SqlError.SqlError> {
    if (leases.length === 0) return []
    for (const { place, ...hold } of leases) if (place !== undefined) yield* regain(hold, place)
    const which = sql`${sql.in("run_id", leases.map(({ runId }) => runId))} AND ${states.from("release")}`
    const columns = sql`run_id, epoch, is_cancelled, started_at, lent, read_until > ${now} AS is_read`
    const found = yield* rows<LeasedRow>(
      leaseMillis === undefined
        ? sql`SELECT ${columns} FROM ${runs} WHERE ${which}`
        : sql`UPDATE ${runs} SET leased_until = ${now} + ${leaseMillis}, ran = ran + ${owned}, renewed_at = ${now}
          WHERE ${which} RETURNING ${columns}`
    )
    const owners = new Map(leases.map((hold) => [hold.runId, hold]))
    const isOwned = ({ epoch, run_id, started_at }: LeasedRow): boolean => {
      const hold = owners.get(run_id)
      return hold?.epoch === epoch && (hold.startedAt ?? Number(started_at)) === Number(started_at)
    }
    return found.filter(isOwned).map((row) => ({
      runId: row.run_id,
      isCancelled: row.is_cancelled !== 0,
      isRead: Boolean(row.is_read),
      hasPlace: row.lent === 0
    }))
  })
}

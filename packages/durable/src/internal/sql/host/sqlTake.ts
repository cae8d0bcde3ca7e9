/**
 * The operation `take` of a host in SQL: leases, slots in queues, and requests about runs. Leases are by the database's
 * clock.
 */
import * as Effect from "effect/Effect"
import type * as SqlError from "effect/sql/SqlError"
import type { Parts } from "../sqlParts.ts"
import { runOf, type RunRow } from "../sqlRows.ts"
import type { Host, StoredRun, Take } from "../../store/store.ts"
import { sqlClaimQueued } from "./sqlClaimQueued.ts"
import { ofAgents, sqlClaimRuns } from "./sqlClaimRuns.ts"
import { sqlKeepRuns } from "./sqlKeepRuns.ts"
import { sqlQueueSlots } from "./sqlQueueSlots.ts"

/** Makes the operation. */
export const sqlTake = (parts: Parts): Host["take"] => {
  const { failing, isPg, now, rows, runs, sql, states } = parts
  const skip = sql.literal(isPg ? "FOR UPDATE SKIP LOCKED" : "")
  const slots = sqlQueueSlots(parts)
  const claimed = sqlClaimRuns(parts)
  const queued = sqlClaimQueued(parts, claimed, slots)
  const leasedRuns = sqlKeepRuns(parts, slots)

  const claim = Effect.fnUntraced(function*(
    wanted: Take
  ): Effect.fn.Return<ReadonlyArray<StoredRun>, SqlError.SqlError> {
    const { agents = [], limit = 0, onlyCancelled } = wanted
    if (agents.length === 0) return []
    if (onlyCancelled === true) {
      return yield* claimed(agents, sql`${ofAgents(sql, agents)} AND is_cancelled = 1`, wanted, limit)
    }
    const free = agents.filter(({ queue }) => queue === undefined)
    const all: Array<StoredRun> = free.length === 0 ? [] : [
      ...yield* claimed(free, sql`${ofAgents(sql, free)}`, wanted, limit)
    ]
    for (const one of agents) {
      if (one.queue !== undefined && all.length < limit) {
        all.push(...yield* queued(one, wanted, limit - all.length))
      }
    }
    return all
  })

  /** Runs that wait and are due. */
  const dueOf = ({ due = [], leaseMillis = 0, limit = 0 }: Take) =>
    due.length === 0 ? Effect.succeed([]) : Effect.map(
      rows<RunRow>(sql`
        UPDATE ${runs} SET wake_at = ${now} + ${leaseMillis} WHERE run_id IN (
          SELECT run_id FROM ${runs} WHERE ${ofAgents(sql, due)} AND ${states.from("ask")} AND wake_at > 0
            AND wake_at <= ${now} ORDER BY wake_at LIMIT ${limit} ${skip}
        ) RETURNING *`),
      (found) => found.map(runOf)
    )

  return (wanted) =>
    failing(
      "take",
      Effect.gen(function*() {
        return { leases: yield* leasedRuns(wanted), taken: yield* claim(wanted), due: yield* dueOf(wanted) }
      })
    )
}

/** Claims of an agent with a queue, in SQL. */
import * as Effect from "effect/Effect"
import type * as SqlError from "effect/sql/SqlError"
import { permittedStarts } from "../../store/permittedStarts.ts"
import type { Parts } from "../sqlParts.ts"
import type { Claimable, StoredRun, Take } from "../../store/store.ts"
import type { sqlClaimRuns } from "./sqlClaimRuns.ts"
import type { sqlQueueSlots } from "./sqlQueueSlots.ts"

/** Makes the operation: continuing runs come first, and only starts count against the rate. */
export const sqlClaimQueued = (
  { now, queues, sql }: Parts,
  claimed: ReturnType<typeof sqlClaimRuns>,
  { locked, placed }: ReturnType<typeof sqlQueueSlots>
) =>
(
  claimable: Claimable,
  wanted: Take,
  limit: number
): Effect.Effect<ReadonlyArray<StoredRun>, SqlError.SqlError> =>
  sql.withTransaction(Effect.gen(function*() {
    const { agent, queue, versions } = claimable
    const { concurrency = Infinity, rate } = queue!
    const { at, busy } = yield* locked(agent)
    const ofAgent = sql`agent = ${agent} AND ${sql.in("version", versions)}`
    // A cancelled run only ends: no queue delays it. A run with a slot keeps it.
    const over = yield* claimed(
      [claimable],
      sql`${ofAgent} AND ((status = 'running' AND lent = 0) OR (status IN ('queued', 'running') AND is_cancelled = 1))`,
      wanted,
      limit
    )
    const running = yield* placed(agent, sql`(lent = 0 OR (lent = 2 AND leased_until > ${now}))`)
    const free = Math.min(limit - over.length, concurrency - running)
    const again = yield* claimed(
      [claimable],
      sql`${ofAgent} AND ((status = 'queued' AND epoch > 0) OR (status = 'running' AND lent > 0))`,
      wanted,
      free
    )
    const permitted = rate && permittedStarts(rate, busy, at)
    const left = Math.min(free - again.length, permitted?.count ?? Infinity)
    const newRuns = yield* claimed([claimable], sql`${ofAgent} AND status = 'queued' AND epoch = 0`, wanted, left)
    if (permitted !== undefined && newRuns.length > 0) {
      const until = permitted.busyAfter(newRuns.length)
      yield* sql`UPDATE ${queues} SET busy_until = ${until} WHERE agent = ${agent}`
    }
    return [...over, ...again, ...newRuns]
  }))

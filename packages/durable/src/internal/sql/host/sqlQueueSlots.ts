/** Slots in the queue of an agent, in SQL. */
import * as Effect from "effect/Effect"
import type * as Statement from "effect/sql/Statement"
import type { Parts } from "../sqlParts.ts"

/** Makes the operations on queues. */
export const sqlQueueSlots = ({ lock, now, queues, rows, runs, sql }: Parts) => {
  /** Locks a queue, and returns until when its rate is used up: one runner at a time. */
  const locked = (agent: string) =>
    Effect.andThen(
      sql`INSERT INTO ${queues} (agent, busy_until) VALUES (${agent}, 0) ON CONFLICT DO NOTHING`,
      Effect.map(
        rows<{ readonly busy: number | string; readonly now: number | string }>(
          sql`SELECT busy_until AS busy, ${now} AS now FROM ${queues} WHERE agent = ${agent} ${lock}`
        ),
        ([row]) => ({ busy: Number(row?.busy ?? 0), at: Number(row?.now ?? 0) })
      )
    )
  /** Number of runs of an agent with a slot in its queue. */
  const placed = (agent: string, which: Statement.Fragment) =>
    Effect.map(
      rows<{ readonly count: number | string }>(
        sql`SELECT COUNT(*) AS count FROM ${runs} WHERE agent = ${agent} AND status = 'running' AND ${which}`
      ),
      ([running]) => Number(running?.count ?? 0)
    )
  return { locked, placed }
}

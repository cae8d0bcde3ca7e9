/** Stored steps of runs in SQL, and their events. */
import * as Effect from "effect/Effect"
import type * as Statement from "effect/sql/Statement"
import type { Parts } from "./sqlParts.ts"
import { stepOf, type StepRow } from "./sqlRows.ts"
import type { RunLog } from "../store/store.ts"

/** Makes the operations that read steps. */
export const sqlStepReads = ({ failing, now, rows, runs, sql, steps, wakeUps }: Parts) => {
  const lastOf = (runId: string, which: Statement.Fragment) =>
    Effect.map(
      rows<StepRow>(sql`SELECT * FROM ${steps} WHERE run_id = ${runId} ${which} ORDER BY position DESC LIMIT 1`),
      ([last]) => last
    )
  /**
   * Position of the next step of a run. One that was committed with a tool's writes may be behind a missing one, and
   * emits no event.
   */
  const endOf = Effect.fnUntraced(function*(runId: string) {
    const last = yield* lastOf(runId, sql.literal(""))
    const lastWithEvents = last?.event_count === 0 ? yield* lastOf(runId, sql`AND event_count > 0`) : last
    return {
      last,
      positions: last === undefined ? 0 : last.position + 1,
      events: lastWithEvents === undefined ? 0 : lastWithEvents.first_event + lastWithEvents.event_count
    }
  })
  /** The steps of a segment, and the numbers of the whole run. */
  const load = Effect.fnUntraced(function*(runId: string, segment: number) {
    const found = yield* rows<StepRow>(
      sql`SELECT * FROM ${steps} WHERE run_id = ${runId} AND leg = ${segment} ORDER BY position`
    )
    const { events, last, positions } = yield* endOf(runId)
    const recorded = last?.kind === "told" ? yield* lastOf(runId, sql`AND kind <> 'told'`) : last
    return { steps: found.map(stepOf), lastEpoch: recorded?.epoch ?? 0, positions, events }
  })
  const read = (runId: string, readMillis: number) =>
    sql`UPDATE ${runs} SET read_until = ${now} + ${readMillis} WHERE run_id = ${runId}
      AND read_until < ${now} + ${Math.round(readMillis / 2)}`
  const events: RunLog["events"] = (runId, from, readMillis) =>
    failing(
      "events",
      Effect.gen(function*() {
        if (readMillis !== undefined) {
          yield* read(runId, readMillis)
          yield* wakeUps.notifySoon([{ _tag: "Read", runId }])
        }
        const found = yield* rows<StepRow>(sql`
            SELECT * FROM ${steps} WHERE run_id = ${runId} AND first_event + event_count > ${from} ORDER BY position LIMIT 500`)
        return found.map(stepOf).flatMap(({ events, firstEvent }) =>
          events.map((event, index) => ({ number: firstEvent + index, event }))
        ).filter(({ number }) => number >= from)
      })
    )
  return { endOf, events, load }
}

/** Stored steps of runs in SQL, and their events. */
import * as Effect from "effect/Effect"
import type * as Statement from "effect/sql/Statement"
import type { Parts } from "./sqlParts.ts"
import { segmentColumn, stepOf, type StepRow } from "./sqlRows.ts"
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
  const endBehind = Effect.fnUntraced(function*(runId: string, last: StepRow | undefined) {
    const lastWithEvents = last?.event_count === 0 ? yield* lastOf(runId, sql`AND event_count > 0`) : last
    return {
      positions: last === undefined ? 0 : last.position + 1,
      events: lastWithEvents === undefined ? 0 : lastWithEvents.first_event + lastWithEvents.event_count
    }
  })
  const endOf = (runId: string) => Effect.flatMap(lastOf(runId, sql.literal("")), (last) => endBehind(runId, last))
  /** The steps of a segment, and the numbers of the whole run, from its last step. */
  const load = Effect.fnUntraced(function*(runId: string, segment: number) {
    const read = yield* rows<StepRow>(
      sql`SELECT * FROM ${steps} WHERE run_id = ${runId}
        AND (leg = ${segment} OR position = (SELECT MAX(position) FROM ${steps} WHERE run_id = ${runId})) ORDER BY position`
    )
    const found = read.filter((row) => row[segmentColumn] === segment)
    const last = read.at(-1)
    const { events, positions } = yield* endBehind(runId, last)
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

/** Rows of steps in statements. */
import { type Parts, text } from "./sqlParts.ts"
import { denied, type Step } from "../store/store.ts"

/** Number of them that are values of their own in a statement of PostgreSQL. */
const mostValues = 4

/** Before the kind of a step that lets a write start: it is stored without it, or as denied. */
const starts = "starts "

/** Makes the parts of the statements that add steps. */
export const sqlStepRows = ({ isPg, isRun, runs, sql, states }: Parts) => {
  const rowOf = (step: Step) => ({
    run_id: step.runId,
    position: step.position,
    epoch: step.epoch,
    leg: step.segment,
    kind: step.startsWrite === true ? `${starts}${step.kind}` : step.kind,
    key: step.key,
    value: text(step.value),
    elapsed: Math.round(step.elapsed),
    first_event: step.firstEvent,
    event_count: step.events.length,
    events: JSON.stringify(step.events)
  })
  const columns = sql.literal(
    "run_id, position, epoch, leg, kind, key, value, elapsed, first_event, event_count, events"
  )
  const stored = sql.literal(`run_id, position, epoch, leg, CASE WHEN kind NOT LIKE '${starts}%' THEN kind
    WHEN is_cancelled = 1 THEN '${denied}' ELSE substr(kind, ${
    starts.length + 1
  }) END, key, value, elapsed, first_event, event_count, events`)
  const values = (step: Step) => {
    const row = rowOf(step)
    return isPg
      ? sql`(${row.run_id}::text, ${row.position}::int, ${row.epoch}::int, ${row.leg}::int, ${row.kind}::text, ${row.key}::text,
          ${row.value}::text, ${row.elapsed}::bigint, ${row.first_event}::int, ${row.event_count}::int, ${row.events}::text)`
      : sql`${sql.in(Object.values(row))}`
  }
  /** The rows as a table. PostgreSQL prepares a statement for each number of rows: many are one parameter, which takes longer. */
  const given = (batch: ReadonlyArray<Step>) =>
    isPg && batch.length > mostValues
      ? sql`SELECT * FROM json_to_recordset(${
        JSON.stringify(batch.map(rowOf))
      }::json) AS given(run_id text, position int, epoch int, leg int, kind text,
          key text, value text, elapsed bigint, first_event int, event_count int, events text)`
      : sql`VALUES ${sql.csv(batch.map(values))}`
  /**
   * Locks the rows of the runs, so that no process takes one over between the check and the insert. They are named: a
   * look-up by `given` would read all runs.
   */
  const ownedRuns = (batch: ReadonlyArray<Step>) =>
    sql`SELECT run_id, epoch, is_cancelled FROM ${runs} WHERE ${
      sql.or([...new Map(batch.map((step) => [`${step.runId}\n${step.startedAt}`, step])).values()].map(isRun))
    } AND ${states.from("release")} ${sql.literal(isPg ? "ORDER BY run_id FOR SHARE" : "")}`
  return { columns, given, held: ownedRuns, rowOf, stored }
}

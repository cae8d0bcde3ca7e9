/** Steps of runs in SQL. */
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import type * as SqlError from "effect/sql/SqlError"
import type * as Statement from "effect/sql/Statement"
import { type Appended, denied, type RunLog, type Step } from "./store.ts"
import { type Parts, text } from "./sqlParts.ts"
import { stepOf, type StepRow } from "./sqlRows.ts"

/** Number of steps that one statement adds. */
export const mostAtOnce = 100

/** Number of them that are values of their own in a statement of PostgreSQL. */
const mostValues = 4

/** Before the kind of a step that lets a write start: it is stored without it, or as denied. */
const starts = "starts "

/** The operations about steps, and the parts that others use. */
// oxlint-disable-next-line max-lines-per-function -- the operations of one store share its tables and its batches
export const sqlSteps = (
  { failing, fenced, insertOf, isPg, now, rows, runs, sql, states, steps, wakeUps }: Parts
) => {
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
  const held = (batch: ReadonlyArray<Step>) =>
    sql`SELECT run_id, epoch, is_cancelled FROM ${runs} WHERE ${
      sql.in("run_id", [...new Set(batch.map(({ runId }) => runId))])
    } AND ${states.from("release")} ${sql.literal(isPg ? "ORDER BY run_id FOR SHARE" : "")}`
  const materialized = sql.literal(isPg ? "MATERIALIZED" : "")
  const added = Effect.fnUntraced(
    function*(batch: ReadonlyArray<Step>): Effect.fn.Return<ReadonlyArray<Appended>, SqlError.SqlError> {
      const inserted = yield* rows<Pick<StepRow, "run_id" | "position" | "epoch" | "kind">>(sql`
        WITH given (${columns}) AS (${given(batch)}), held AS ${materialized} (${held(batch)})
        INSERT INTO ${steps} (${columns}) SELECT ${stored} FROM given JOIN held USING (run_id, epoch)
        WHERE TRUE ON CONFLICT DO NOTHING RETURNING run_id, position, epoch, kind`)
      const resultOf = (kind: string): Appended => kind === denied ? "denied" : "added"
      const known = new Map(
        inserted.map(({ epoch, kind, position, run_id }) => [`${run_id}\n${position}\n${epoch}`, resultOf(kind)])
      )
      const idOf = ({ epoch, position, runId }: Step) => `${runId}\n${position}\n${epoch}`
      for (const step of batch) {
        if (known.has(idOf(step))) continue
        // Another process holds the run, or the answer of an earlier try was lost.
        const there = yield* rows<StepRow>(
          sql`SELECT * FROM ${steps} WHERE run_id = ${step.runId} AND position = ${step.position}
            AND EXISTS (SELECT 1 FROM ${runs} WHERE ${fenced("release", step)})`
        )
        if (there[0]?.epoch === step.epoch && there[0].key === step.key) {
          known.set(idOf(step), resultOf(there[0].kind))
        }
      }
      return batch.map((step) => known.get(idOf(step)) ?? "lost")
    }
  )
  /**
   * Adds all of the steps of a run, and changes its row, in one statement; `false` if it has done neither. For
   * PostgreSQL.
   */
  const addedWith = (batch: ReadonlyArray<Step>, change: Statement.Fragment, also?: Statement.Fragment | undefined) =>
    Effect.map(
      rows<object>(sql`
        WITH given (${columns}) AS (${given(batch)}), held AS ${materialized} (${held(batch)}), added AS (
          INSERT INTO ${steps} (${columns}) SELECT ${columns} FROM given
          WHERE EXISTS (SELECT 1 FROM held WHERE held.run_id = given.run_id AND held.epoch = given.epoch)
            AND NOT EXISTS (SELECT 1 FROM ${steps} JOIN given AS one USING (run_id, position))
          RETURNING run_id
        )${
        also === undefined ? sql.literal("") : sql`, also AS (${also})`
      } UPDATE ${runs} ${change} AND EXISTS (SELECT 1 FROM added) RETURNING run_id`),
      (changed) => changed.length > 0
    )
  const append = (all: ReadonlyArray<Step>) =>
    Effect.map(Effect.forEach(Arr.chunksOf(all, mostAtOnce), added), (answers) => answers.flat())

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
    const told = last?.event_count === 0 ? yield* lastOf(runId, sql`AND event_count > 0`) : last
    return {
      last,
      positions: last === undefined ? 0 : last.position + 1,
      events: told === undefined ? 0 : told.first_event + told.event_count
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
  return {
    load,
    events,
    append: (all: ReadonlyArray<Step>) => failing("append", append(all)),
    added,
    addedWith,
    endOf,
    insertStep: (step: Step) => sql`INSERT INTO ${steps} ${insertOf([rowOf(step)])}`
  }
}

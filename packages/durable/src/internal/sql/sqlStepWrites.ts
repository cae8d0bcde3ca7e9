/** Added steps of runs in SQL. */
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import type * as SqlError from "effect/sql/SqlError"
import type * as Statement from "effect/sql/Statement"
import type { Parts } from "./sqlParts.ts"
import type { StepRow } from "./sqlRows.ts"
import { sqlStepRows } from "./sqlStepRows.ts"
import { type Appended, denied, type Step } from "../store/store.ts"

/** Number of steps that one statement adds. */
export const mostAtOnce = 100

/** Makes the operations that add steps. */
export const sqlStepWrites = (parts: Parts) => {
  const { failing, fenced, insertOf, isPg, rows, runs, sql, steps } = parts
  const { columns, given, held, rowOf, stored } = sqlStepRows(parts)
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
  return {
    append: (all: ReadonlyArray<Step>) => failing("append", append(all)),
    added,
    addedWith,
    insertStep: (step: Step) => sql`INSERT INTO ${steps} ${insertOf([rowOf(step)])}`
  }
}

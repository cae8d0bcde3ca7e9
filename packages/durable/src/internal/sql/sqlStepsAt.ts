/** Steps at positions of several runs, in SQL. */
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import type * as SqlError from "effect/sql/SqlError"
import type { Parts } from "./sqlParts.ts"
import { stepOf, type StepRow } from "./sqlRows.ts"
import type { Step } from "../store/store.ts"

/** Number of steps that one statement reads. */
const mostSteps = 500

/** Makes the operation. */
export const sqlStepsAt = ({ rows, sql, steps }: Parts) =>
  Effect.fnUntraced(function*(
    ids: ReadonlyArray<Pick<Step, "runId" | "position">>
  ): Effect.fn.Return<ReadonlyArray<Step>, SqlError.SqlError> {
    const found: Array<Step> = []
    for (const some of Arr.chunksOf(ids, mostSteps)) {
      const wanted = new Set(some.map(({ position, runId }) => `${position} ${runId}`))
      const read = yield* rows<StepRow>(sql`SELECT * FROM ${steps}
      WHERE ${sql.in("run_id", [...new Set(some.map(({ runId }) => runId))])}
        AND ${sql.in("position", [...new Set(some.map(({ position }) => position))])}`)
      found.push(...read.filter((row) => wanted.has(`${row.position} ${row.run_id}`)).map(stepOf))
    }
    return found
  })

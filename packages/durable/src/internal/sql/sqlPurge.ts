/** Purge of ended runs in SQL. */
import * as Effect from "effect/Effect"
import type * as Statement from "effect/sql/Statement"
import type { sqlMessages } from "./sqlMessages.ts"
import type { Parts } from "./sqlParts.ts"
import type { RunRow } from "./sqlRows.ts"
import type { RunLists } from "../store/store.ts"
import { ended } from "../store/unemittedEnds.ts"

/** Makes the operation `purge`. */
export const sqlPurge = (
  { decisions, inTransaction, isCompensation, now, rows, runs, signals, sql, steps }: Parts,
  { remove }: Pick<ReturnType<typeof sqlMessages>, "remove">
): RunLists["purge"] => {
  const hasEnded = (row: Statement.Identifier) => sql`${row}.status IN ${sql.in([...ended])}`
  return (olderThanMillis) =>
    inTransaction(
      "purge",
      Effect.gen(function*() {
        const old = yield* rows<Pick<RunRow, "run_id">>(
          sql`SELECT run_id FROM ${runs} WHERE ${hasEnded(runs)} AND updated_at <= ${now} - ${olderThanMillis}
            AND NOT EXISTS (SELECT 1 FROM ${runs} AS parent
              WHERE parent.run_id = ${runs}.parent_id AND (${isCompensation()} OR NOT ${hasEnded(sql("parent"))}))
            AND NOT EXISTS (SELECT 1 FROM ${runs} AS other
              WHERE other.parent_id = ${runs}.run_id AND ${isCompensation(sql("other"))} AND NOT ${
            hasEnded(sql("other"))
          })
            ORDER BY updated_at LIMIT 1000`
        )
        if (old.length === 0) return 0
        const ids = old.map(({ run_id }) => run_id)
        yield* remove(ids)
        yield* sql`DELETE FROM ${steps} WHERE ${sql.in("run_id", ids)}`
        yield* sql`DELETE FROM ${decisions} WHERE ${sql.in("run_id", ids)}`
        yield* sql`DELETE FROM ${signals} WHERE ${sql.in("run_id", ids)}`
        yield* sql`DELETE FROM ${runs} WHERE ${sql.in("run_id", ids)}`
        return old.length
      })
    )
}

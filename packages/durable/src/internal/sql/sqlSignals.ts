/** Signals of durable runs in SQL. */
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import { type Parts, text } from "./sqlParts.ts"
import type { RunLog } from "../store/store.ts"

/** The operations about signals. */
export const sqlSignals = (
  { failing, isPg, rows, runs, signals, sql, wakeUps }: Parts
): Pick<RunLog, "signal" | "signalled"> => ({
  signal: (runId, name, value) =>
    Effect.tap(
      failing(
        "signal",
        Effect.map(
          // A purge deletes the run with its signals: it comes before or after.
          rows<object>(sql`INSERT INTO ${signals} (run_id, name, value)
            SELECT run_id, CAST(${name} AS TEXT), CAST(${text(value)} AS TEXT) FROM ${runs} WHERE run_id = ${runId}
            ${sql.literal(isPg ? "FOR KEY SHARE" : "")} ON CONFLICT DO NOTHING RETURNING run_id`),
          (added) => added.length > 0
        )
      ),
      (isAdded) => isAdded ? wakeUps.notify([{ _tag: "Changed", runId }]) : Effect.void
    ),
  signalled: (runId, name) =>
    failing(
      "signalled",
      Effect.map(
        rows<{ readonly value: string }>(
          sql`SELECT value FROM ${signals} WHERE run_id = ${runId} AND name = ${name}`
        ),
        ([found]) => found && { value: JSON.parse(found.value) as Schema.Json }
      )
    )
})

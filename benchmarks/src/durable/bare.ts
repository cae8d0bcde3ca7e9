/** Bare inserts: one row for each step, each in a transaction of its own. The minimum of a step. */
import { PgClient } from "@effect/sql-pg"
import { NodeSqliteClient } from "@recourse/sql"
import { Effect, ManagedRuntime, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import type { Open } from "./engine.ts"

export const bare: Open = async (place) => {
  const runtime = ManagedRuntime.make(
    "postgres" in place
      ? PgClient.layer({ url: Redacted.make(place.postgres), maxConnections: 20 })
      : NodeSqliteClient.layer({ filename: place.file })
  )
  // As large as Recourse's entry of a step: the answer or the call's outcome, and the events that lead to it.
  const value = JSON.stringify({ told: 1, answer: "x".repeat(530) })
  const events = JSON.stringify(Array.from({ length: 3 }, () => ({ _tag: "ModelRequested", text: "x".repeat(240) })))
  const sql = await runtime.runPromise(SqlClient.SqlClient)
  await runtime.runPromise(
    sql`CREATE TABLE bare (run_id VARCHAR(255), position INTEGER, value TEXT, events TEXT, PRIMARY KEY (run_id, position))`
  )
  return {
    run: async (id, steps) => {
      for (let n = 0; n < steps; n++) {
        await runtime.runPromise(
          Effect.asVoid(
            sql`INSERT INTO bare (run_id, position, value, events) VALUES (${id}, ${n}, ${value}, ${events})`
          )
        )
      }
    },
    close: () => runtime.dispose()
  }
}

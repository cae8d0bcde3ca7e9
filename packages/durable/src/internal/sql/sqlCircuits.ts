/** Circuits in a table, for PostgreSQL and SQLite. Times are by the database's clock. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as SqlClient from "effect/sql/SqlClient"
import { CurrentStoreTimeout } from "@recourse/core/StoreTimeout"
import type { Entries } from "../circuit/circuitEntries.ts"
import { nowOf } from "./sqlParts.ts"

export const createCircuits = (table: string): string =>
  `CREATE TABLE IF NOT EXISTS ${table} (
  circuit TEXT PRIMARY KEY,
  state TEXT NOT NULL,
  forget_at BIGINT NOT NULL
)`

interface Row {
  readonly now: number | string
  readonly state: string | null
  readonly forget_at: number | string | null
}

/** The circuits of a table, and the deletion of unused ones. */
export const sqlCircuits = (client: SqlClient.SqlClient, table: string) => {
  const sql = client.withoutTransforms()
  const circuits = sql(table)
  const now = nowOf(sql)
  /** A silent database delays no call, and a transaction of the caller's reverts no change. */
  const asked = <A, E>(effect: Effect.Effect<A, E>) =>
    Effect.flatMap(
      Effect.serviceOption(sql.transactionService),
      (transaction): Effect.Effect<A, unknown> =>
        Option.isSome(transaction)
          ? Effect.fail("within a transaction")
          : Effect.flatMap(CurrentStoreTimeout, (atMost) => Effect.timeout(Effect.interruptible(effect), atMost))
    )
  const entries: Entries<unknown> = {
    read: (key) =>
      asked(Effect.map(
        sql<Row>`SELECT ${now} AS now, state, forget_at FROM (SELECT 1 AS one) AS one
          LEFT JOIN ${circuits} ON circuit = ${key}`,
        ([row]) => ({
          now: Number(row!.now),
          text: row!.state ?? undefined,
          forgetAt: Number(row!.forget_at ?? 0)
        })
      )),
    swap: (key, before, after, forgetAt) =>
      asked(Effect.map(
        before === undefined
          ? sql`INSERT INTO ${circuits} (circuit, state, forget_at) VALUES (${key}, ${after}, ${forgetAt})
              ON CONFLICT DO NOTHING RETURNING circuit`
          : sql`UPDATE ${circuits} SET state = ${after}, forget_at = ${forgetAt}
              WHERE circuit = ${key} AND state = ${before} RETURNING circuit`,
        (changed) => changed.length > 0
      ))
  }
  return { entries, forget: sql`DELETE FROM ${circuits} WHERE forget_at <= ${now}` }
}

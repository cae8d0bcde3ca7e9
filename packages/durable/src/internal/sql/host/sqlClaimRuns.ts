/** Claims of runs in SQL: by leases, in the order of their starts. */
import * as Effect from "effect/Effect"
import type * as Statement from "effect/sql/Statement"
import type { Parts } from "../sqlParts.ts"
import { runOf, type RunRow } from "../sqlRows.ts"
import type { Claimable, Take } from "../../store/store.ts"

/** The condition that a run is of one of these agents, in a version that this process executes. */
export const ofAgents = (sql: Parts["sql"], agents: ReadonlyArray<Claimable>) =>
  sql.or(agents.map(({ agent, versions }) => sql`(agent = ${agent} AND ${sql.in("version", versions)})`))

/** The change of the version of runs that another version continues. */
const adopting = (sql: Parts["sql"], agents: ReadonlyArray<Claimable>): Statement.Fragment => {
  const adopted = agents.flatMap(({ adopted, agent }) =>
    Object.entries(adopted ?? {}).map(([from, to]) => sql`WHEN agent = ${agent} AND version = ${from} THEN ${to}`)
  )
  return adopted.length === 0
    ? sql.literal("")
    : sql`, version = CASE ${sql.join(" ", false)(adopted)} ELSE version END`
}

/** Makes the operation: claims runs of these agents that meet a condition. */
export const sqlClaimRuns = ({ isPg, now, rows, runs, sql, states }: Parts) => {
  const skip = sql.literal(isPg ? "FOR UPDATE SKIP LOCKED" : "")
  /**
   * SQLite uses the index of claimable rows, which is in the order of claims, only with the hint that most of its rows
   * match.
   */
  const isAtWork = isPg ? states.from("claim") : sql`likelihood(${states.from("claim")}, 0.999)`
  /** Takes runs. Those that another version continues are of that version from then on. */
  return (
    agents: ReadonlyArray<Claimable>,
    which: Statement.Fragment,
    { leaseMillis = 0, only }: Take,
    limit: number
  ) =>
    limit <= 0 ? Effect.succeed([]) : Effect.map(
      rows<RunRow>(sql`
        UPDATE ${runs} SET ${states.to("claim")}, epoch = epoch + 1, leased_until = ${now} + ${leaseMillis},
          renewed_at = ${now}, updated_at = ${now}${adopting(sql, agents)}
        WHERE run_id IN (
          SELECT run_id FROM ${runs} WHERE ${which} AND ${isAtWork} AND leased_until <= ${now} ${
        only === undefined ? sql.literal("") : sql`AND ${sql.in("run_id", only)}`
      }
          ORDER BY leased_until, started_at LIMIT ${limit} ${skip}
        ) RETURNING *`),
      (taken) => taken.map(runOf)
    )
}

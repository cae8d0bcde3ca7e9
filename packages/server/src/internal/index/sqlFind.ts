/** Runs that fit a filter, by SQL. */
import * as Effect from "effect/Effect"
import type * as SqlError from "effect/sql/SqlError"
import type { IndexTables } from "./sqlOverview.ts"
import type { RunFilter } from "./types.ts"

/** Converts a searched text to a pattern in which only the ends match other characters. */
const within = (text: string): string => `%${text.toLowerCase().replaceAll(/[!%_]/g, "!$&")}%`

/** The runs of a filter, newest first. */
export const sqlFind = (
  { calls, open, runs, sql }: IndexTables,
  filter: RunFilter
): Effect.Effect<ReadonlyArray<{ readonly runId: string; readonly startedAt: number }>, SqlError.SqlError> => {
  const { agents, behind, code, idPrefix, like, limit, state, text, tool } = filter
  const states = {
    unknown: sql`${open} > 0`,
    undone: sql`r.undone > 0`,
    retried: sql`r.retries > 0`,
    fixed: sql`r.fixes > 0`
  }
  const conditions = [
    sql`1 = 1`,
    ...(agents === undefined ? [] : agents.length === 0 ? [sql`1 = 0`] : [sql.in("r.agent", agents)]),
    ...(filter.owner === undefined ? [] : [sql`r.owner = ${filter.owner}`]),
    ...(filter.status === undefined ? [] : [sql`r.status = ${filter.status}`]),
    ...(idPrefix === undefined || idPrefix === ""
      ? []
      : [sql`r.run_id LIKE ${`${idPrefix.replaceAll(/[!%_]/g, "!$&")}%`} ESCAPE '!'`]),
    ...(filter.startedAfter === undefined ? [] : [sql`r.started_at >= ${filter.startedAfter}`]),
    ...(filter.startedBefore === undefined ? [] : [sql`r.started_at < ${filter.startedBefore}`]),
    ...(text === undefined ? [] : [sql`r.words LIKE ${within(text)} ESCAPE '!'`]),
    ...(tool === undefined
      ? []
      : [sql`EXISTS (SELECT 1 FROM ${calls} c WHERE c.run_id = r.run_id AND c.tool = ${tool})`]),
    ...(code === undefined
      ? []
      : [
        sql`(r.code = ${code} OR EXISTS (SELECT 1 FROM ${calls} c WHERE c.run_id = r.run_id AND c.code = ${code}))`
      ]),
    ...(state === undefined ? [] : [states[state]]),
    ...(filter.minWorked === undefined ? [] : [sql`r.worked >= ${filter.minWorked}`]),
    ...(filter.minCost === undefined ? [] : [sql`r.cost >= ${filter.minCost}`]),
    ...(like === undefined
      ? []
      : [sql`r.likeness = (SELECT l.likeness FROM ${runs} l WHERE l.run_id = ${like})`]),
    ...(behind === undefined
      ? []
      : [
        sql`(r.started_at < ${behind.startedAt} OR (r.started_at = ${behind.startedAt} AND r.run_id < ${behind.runId}))`
      ])
  ]
  const rows = sql<
    { readonly run_id: string; readonly started_at: number | string }
  >`SELECT r.run_id, r.started_at FROM ${runs} r WHERE ${
    sql.and(conditions)
  } ORDER BY r.started_at DESC, r.run_id DESC LIMIT ${limit}`
  return Effect.map(
    rows,
    (found) => found.map(({ run_id, started_at }) => ({ runId: run_id, startedAt: Number(started_at) }))
  )
}

/** Lists of durable runs in SQL. */
import * as Effect from "effect/Effect"
import type { Parts } from "./sqlParts.ts"
import { runOf, type RunRow } from "./sqlRows.ts"
import type { Count, RunLists } from "../store/store.ts"

/** The conditions of a list. */
const conditionsOf = (
  sql: Parts["sql"],
  { agent, askedOf, behind, idPrefix, owner, startedAfter, startedBefore, status }: Parameters<RunLists["list"]>[0]
) => [
  sql`1 = 1`,
  ...(agent === undefined ? [] : [sql`agent = ${agent}`]),
  ...(askedOf === undefined ? [] : [sql`asked_of = ${askedOf}`]),
  ...(owner === undefined ? [] : [sql`owner = ${owner}`]),
  ...(status === undefined ? [] : [sql`status = ${status}`]),
  // `LIKE` of SQLite looks at no case.
  ...(idPrefix === undefined ? [] : [sql`substr(run_id, 1, ${[...idPrefix].length}) = ${idPrefix}`]),
  ...(startedBefore === undefined ? [] : [sql`started_at < ${Math.ceil(startedBefore)}`]),
  ...(startedAfter === undefined ? [] : [sql`started_at >= ${Math.ceil(startedAfter)}`]),
  ...(behind === undefined ? [] : [
    sql`(started_at < ${behind.startedAt} OR (started_at = ${behind.startedAt} AND run_id < ${behind.runId}))`
  ])
]

/** The operations that read runs. */
export const sqlLists = (
  { failing, getRow, isCompensation, rows, runs, sql }: Parts
): Omit<RunLists, "purge"> => {
  return {
    get: (runId) => failing("get", getRow(runId)),
    children: (runId) =>
      failing(
        "children",
        Effect.map(
          rows<Pick<RunRow, "run_id">>(
            sql`SELECT run_id FROM ${runs} WHERE parent_id = ${runId} AND NOT ${isCompensation()}
              AND ${sql.in("status", ["queued", "running", "waiting"])}`
          ),
          (found) => found.map(({ run_id }) => run_id)
        )
      ),
    ended: (runIds) =>
      failing(
        "ended",
        runIds.length === 0 ? Effect.succeed([]) : Effect.map(
          rows<Pick<RunRow, "run_id">>(
            sql`SELECT run_id FROM ${runs} WHERE ${sql.in("run_id", runIds)}
              AND ${sql.in("status", ["queued", "running", "waiting"])}`
          ),
          (found) => {
            const live = new Set(found.map(({ run_id }) => run_id))
            return runIds.filter((runId) => !live.has(runId))
          }
        )
      ),
    count: failing(
      "count",
      Effect.map(
        rows<{ readonly agent: string | null; readonly status: Count["status"]; readonly count: number | string }>(sql`
          SELECT agent, status, COUNT(*) AS count FROM ${runs} WHERE ${sql.in("status", ["queued", "running"])}
            GROUP BY agent, status
          UNION ALL SELECT NULL, 'waiting', COUNT(*) FROM ${runs} WHERE status = 'waiting'`),
        (found) =>
          found.map(({ agent, count, status }) => ({
            status,
            ...(agent === null ? undefined : { agent }),
            count: Number(count)
          }))
      )
    ),
    list: (query) =>
      failing(
        "list",
        Effect.map(
          rows<RunRow>(
            sql`SELECT * FROM ${runs} WHERE ${
              sql.and(conditionsOf(sql, query))
            } ORDER BY started_at DESC, run_id DESC LIMIT ${query.limit ?? 100}`
          ),
          (found) => found.map(runOf)
        )
      )
  }
}

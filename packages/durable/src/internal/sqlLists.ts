/** Lists of durable runs in SQL. */
import * as Effect from "effect/Effect"
import { ended } from "./unemittedEnds.ts"
import type { sqlMessages } from "./sqlMessages.ts"
import type { Parts } from "./sqlParts.ts"
import { runOf, type RunRow } from "./sqlRows.ts"
import type { Count, RunLists } from "./store.ts"

/** The operations that read runs. */
// oxlint-disable-next-line max-lines-per-function -- the operations of one store share its tables and its clock
export const sqlLists = (
  { decisions, failing, getRow, inTransaction, now, rows, runs, signals, sql, steps }: Parts,
  { remove }: Pick<ReturnType<typeof sqlMessages>, "remove">
): RunLists => {
  return {
    get: (runId) => failing("get", getRow(runId)),
    children: (runId) =>
      failing(
        "children",
        Effect.map(
          rows<Pick<RunRow, "run_id">>(
            sql`SELECT run_id FROM ${runs} WHERE parent_id = ${runId}
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
    list: ({ agent, askedOf, behind, idPrefix, limit = 100, owner, startedAfter, startedBefore, status }) => {
      const conditions = [
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
      return failing(
        "list",
        Effect.map(
          rows<RunRow>(
            sql`SELECT * FROM ${runs} WHERE ${sql.and(conditions)} ORDER BY started_at DESC, run_id DESC LIMIT ${limit}`
          ),
          (found) => found.map(runOf)
        )
      )
    },
    purge: (olderThanMillis) =>
      inTransaction(
        "purge",
        Effect.gen(function*() {
          const old = yield* rows<Pick<RunRow, "run_id">>(
            sql`SELECT run_id FROM ${runs} WHERE ${
              sql.in("status", [...ended])
            } AND updated_at <= ${now} - ${olderThanMillis}
              LIMIT 1000`
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
}

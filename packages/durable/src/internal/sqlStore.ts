/** Store of durable runs in SQL. Leases are by the database's clock. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as SqlClient from "effect/sql/SqlClient"
import { ended } from "./ended.ts"
import type { Count, Store } from "./store.ts"
import { sqlClaims } from "./sqlClaims.ts"
import { sqlDecisions } from "./sqlDecisions.ts"
import { sqlInsert } from "./sqlInsert.ts"
import { sqlMessages } from "./sqlMessages.ts"
import { partsOf, text } from "./sqlParts.ts"
import { runOf, type RunRow, type StepRow } from "./sqlRows.ts"
import { mostAtOnce, sqlSteps } from "./sqlSteps.ts"
import type { Tables } from "./sqlTables.ts"
import { sqlTransaction } from "./sqlTransaction.ts"

// oxlint-disable-next-line max-lines-per-function -- the operations of one store share its tables and its clock
export const sqlStore = (client: SqlClient.SqlClient, tables: Tables): Store => {
  const parts = partsOf(client, tables)
  const { decisions, failing, getRow, heldAs, inTransaction, isPg, now, rows, runs, signals, sql, steps } = parts
  const ofSteps = sqlSteps(parts)
  const ofMessages = sqlMessages(parts)
  const ofDecisions = sqlDecisions(parts, ofSteps, ofMessages.operations)
  const { cancelUnheld } = ofDecisions
  const inserted = sqlInsert(parts, ofMessages)
  return {
    ...ofMessages.operations,
    ...ofSteps.operations,
    ...ofDecisions.operations,
    ...sqlClaims(parts),
    transaction: sqlTransaction(parts, ofSteps),
    insert: (run) =>
      Effect.flatMap(
        // Within a transaction of the caller's nobody sees it before that is committed: it is claimed then.
        Effect.map(Effect.serviceOption(sql.transactionService), Option.isSome),
        (isWithin) => inserted(isWithin ? { ...run, leaseMillis: undefined } : run)
      ),
    settle: (hold, settlement) => {
      const { before = [], last, outcome, pending, said, snapshot, status, wakeInMillis } = settlement
      const added = [...before, last]
      const waits = status === "waiting"
      const change = sql`SET status = ${status}, leased_until = 0, updated_at = ${now}, pending = ${
        JSON.stringify(pending)
      }, outcome = ${text(outcome)} ${
        waits ?
          sql`, snapshot = ${text(snapshot)}, leg = leg + 1, ran = 0, asked = 0, asked_of = NULL,
          wake_at = ${wakeInMillis === undefined ? sql`0` : sql`${now} + ${Math.max(0, Math.round(wakeInMillis))}`}` :
          sql.literal("")
      } WHERE ${heldAs(hold)}`
      const inSteps = inTransaction(
        "settle",
        Effect.gen(function*() {
          const areAdded = yield* ofSteps.added(added)
          if (areAdded.at(-1) !== "added") {
            // The answer of an earlier try was lost.
            const [there] = yield* rows<StepRow>(
              sql`SELECT * FROM ${steps} WHERE run_id = ${hold.runId} AND position = ${last.position}`
            )
            return there !== undefined && there.epoch === hold.epoch && there.key === last.key
          }
          yield* sql`UPDATE ${runs} ${change}`
          if (said !== undefined) yield* ofMessages.insertWhere(said, sql`1 = 1`)
          if (!waits) return true
          const leg = last.leg + 1
          const left = yield* rows<object>(
            sql`UPDATE ${decisions} SET leg = ${leg} WHERE run_id = ${hold.runId} AND leg = ${last.leg} AND is_used = 0
              RETURNING call_id`
          )
          const [run] = yield* rows<RunRow>(sql`SELECT * FROM ${runs} WHERE run_id = ${hold.runId}`)
          if (run?.is_cancelled === 1) yield* cancelUnheld(hold.runId)
          else if (left.length > 0) {
            yield* sql`UPDATE ${runs} SET status = 'queued' WHERE run_id = ${hold.runId} AND status = 'waiting'`
          }
          return true
        })
      )
      // A round trip to the database is what ends a run of one answer.
      return isPg && !waits && added.length <= mostAtOnce
        ? Effect.flatMap(
          failing(
            "settle",
            ofSteps.addedWith(
              added,
              change,
              said && ofMessages.insertWhere(said, sql`EXISTS (SELECT 1 FROM added)`)
            )
          ),
          (isSettled) => isSettled ? Effect.succeed(true) : inSteps
        )
        : inSteps
    },
    get: (runId) => failing("get", getRow(runId)),
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
          yield* ofMessages.remove(ids)
          yield* sql`DELETE FROM ${steps} WHERE ${sql.in("run_id", ids)}`
          yield* sql`DELETE FROM ${decisions} WHERE ${sql.in("run_id", ids)}`
          yield* sql`DELETE FROM ${signals} WHERE ${sql.in("run_id", ids)}`
          yield* sql`DELETE FROM ${runs} WHERE ${sql.in("run_id", ids)}`
          return old.length
        })
      )
  }
}

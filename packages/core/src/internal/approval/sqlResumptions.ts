/** Resumed snapshots in an SQL table. A lease, by the database's clock, holds each until its run has ended. */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as SqlClient from "effect/sql/SqlClient"
import type * as SqlError from "effect/sql/SqlError"
import { randomId } from "../foundation/digest.ts"
import * as Lease from "../foundation/lease.ts"
import { Recent } from "../foundation/recentMap.ts"
import type { ClaimedSnapshot, ResumptionFate } from "./snapshot.ts"
import { durable, hasReturning, nowMillis } from "../foundation/sqlTable.ts"

/** Claims that may be stored without a known owner: their statements failed, or did not answer in time. */
interface Lost {
  readonly claims: ReadonlyArray<string>
  readonly isTakenOver: boolean
}

/** Statements on the table. `duration` is the lease of a claim. */
const statementsOf = (sql: SqlClient.SqlClient, name: string, duration: Duration.Duration) => {
  const table = sql(name)
  const now = nowMillis(sql)
  const lease = Math.ceil(Duration.toMillis(duration))

  const holder = (snapshotId: string) =>
    Effect.map(
      sql<{ readonly claim: string }>`SELECT claim FROM ${table} WHERE snapshot_id = ${snapshotId}`,
      ([row]) => row?.claim
    )
  const insert = (snapshotId: string, claim: string): Effect.Effect<boolean, SqlError.SqlError> => {
    const values = sql`INSERT INTO ${table} (snapshot_id, claim, claimed_at, leased_until)
      VALUES (${snapshotId}, ${claim}, ${now}, ${now} + ${lease})`
    return hasReturning(sql)
      ? Effect.map(sql`${values} ON CONFLICT DO NOTHING RETURNING snapshot_id`, (rows) => rows.length === 1)
      : Effect.catchIf(
        Effect.as(values, true),
        (error: SqlError.SqlError) => error.reason._tag === "UniqueViolation",
        () => Effect.succeed(false)
      )
  }
  const take = (snapshotId: string, claim: string): Effect.Effect<boolean, SqlError.SqlError> =>
    Effect.flatMap(
      sql`UPDATE ${table} SET claim = ${claim}, leased_until = ${now} + ${lease}
        WHERE snapshot_id = ${snapshotId} AND ended_at IS NULL AND leased_until <= ${now}`,
      () => Effect.map(holder(snapshotId), (current) => current === claim)
    )
  const renew = (snapshotId: string, claim: string): Effect.Effect<boolean, SqlError.SqlError> =>
    Effect.andThen(
      sql`UPDATE ${table} SET leased_until = ${now} + ${lease}
        WHERE snapshot_id = ${snapshotId} AND claim = ${claim} AND ended_at IS NULL`,
      Effect.map(holder(snapshotId), (current) => current === claim)
    )
  const record = (snapshotId: string, claim: string, fate: ResumptionFate) => {
    const renewal = sql`snapshot_id = ${snapshotId} AND claim = ${claim}`
    switch (fate) {
      case "used":
        return sql`UPDATE ${table} SET ended_at = ${now} WHERE ${renewal}`
      case "abandoned":
        return sql`UPDATE ${table} SET ended_at = NULL, leased_until = ${now} WHERE ${renewal}`
      case "free":
        return sql`DELETE FROM ${table} WHERE ${renewal}`
    }
  }

  /** Returns the end of a claim that is neither ended nor expired. */
  const claimedUntil = (snapshotId: string): Effect.Effect<ClaimedSnapshot | undefined, SqlError.SqlError> =>
    Effect.zipWith(
      sql<{ readonly remains: number | string }>`SELECT leased_until - ${now} AS remains FROM ${table}
        WHERE snapshot_id = ${snapshotId} AND ended_at IS NULL`,
      Clock.currentTimeMillis,
      ([row], millis) => row && { freeAt: millis + Math.max(0, Number(row.remains)) }
    )

  /** Takes the snapshot over from one of these claims. */
  const adopt = (snapshotId: string, claim: string, from: ReadonlyArray<string>) =>
    Effect.andThen(
      sql`UPDATE ${table} SET claim = ${claim}, leased_until = ${now} + ${lease}
        WHERE snapshot_id = ${snapshotId} AND ended_at IS NULL AND ${sql.in("claim", from)}`,
      Effect.map(holder(snapshotId), (current) => current === claim)
    )
  return { insert, take, renew, record, adopt, claimedUntil }
}

/** Claims snapshots in a table that is there. */
export const sqlResumptions = (sql: SqlClient.SqlClient, name: string, duration: Duration.Duration) => {
  const { adopt, claimedUntil, insert, record, renew, take } = statementsOf(sql, name, duration)
  /**
   * Lost claims of this process. No call has run under them, so the next claim of this process takes their snapshots
   * over.
   */
  const lost = new Recent<string, Lost>(1_000)

  return Effect.fnUntraced(
    function*(snapshotId: string) {
      const claim = yield* randomId
      const asked = yield* Lease.moment
      const found = lost.get(snapshotId)
      let isTaken = found?.isTakenOver === true
      const claimed = Effect.gen(function*() {
        if (found !== undefined && (yield* adopt(snapshotId, claim, found.claims))) {
          return { isTakenOver: found.isTakenOver }
        }
        if (yield* insert(snapshotId, claim)) return { isTakenOver: false }
        isTaken = true
        return (yield* take(snapshotId, claim)) ? { isTakenOver: true } : undefined
      })
      const ended = yield* Effect.onExit(claimed, (exit) => {
        if (Exit.isSuccess(exit)) return Effect.sync(() => void lost.delete(snapshotId))
        const { claims, isTakenOver } = lost.get(snapshotId) ?? { claims: [], isTakenOver: false }
        lost.set(snapshotId, { claims: [...claims, claim], isTakenOver: isTakenOver || isTaken })
        // No call has run under it: others need not wait for its lease.
        const given = Effect.ignore(record(snapshotId, claim, isTaken ? "abandoned" : "free"))
        return Effect.forkDetach(Effect.interruptible(given))
      })
      if (ended === undefined) return (yield* claimedUntil(snapshotId)) ?? false
      const renewal = Lease.make(duration, renew(snapshotId, claim))
      yield* renewal.start(asked)
      return {
        isTakenOver: ended.isTakenOver,
        end: (fate: ResumptionFate) => Effect.orDie(Effect.andThen(renewal.stop, record(snapshotId, claim, fate)))
      }
    },
    (claimed) => durable(sql, claimed),
    Effect.orDie
  )
}

/** Claims on runs in SQL: who holds which, until when. */
import * as Effect from "effect/Effect"
import type * as SqlError from "effect/sql/SqlError"
import type * as Statement from "effect/sql/Statement"
import type { Claimable, Store, StoredRun } from "./store.ts"
import type { Parts } from "./sqlParts.ts"
import { runOf, type RunRow } from "./sqlRows.ts"

type Claims = Pick<
  Store,
  "claim" | "due" | "asked" | "adopt" | "renew" | "wanted" | "read" | "lend" | "reclaim" | "release"
>

/** Of a run that waits for another one or for a signal: its place in the queue is another's. */
const isLent = 1
/** It has what it waited for, and goes on when a place is free. */
const wantsBack = 2

/** The operations about claims. */
// oxlint-disable-next-line max-lines-per-function -- the operations of one store share its tables and its clock
export const sqlClaims = (
  { failing, heldAs, isPg, lock, now, queues, rows, runs, sql }: Parts
): Claims => {
  const skip = sql.literal(isPg ? "FOR UPDATE SKIP LOCKED" : "")
  const ofAgents = (agents: ReadonlyArray<Claimable>) =>
    sql.or(agents.map(({ agent, versions }) => sql`(agent = ${agent} AND ${sql.in("version", versions)})`))
  /** SQLite takes the index of what may be claimed, which is in the order of claims, only when told that most of what stands in it is meant. */
  const isAtWork = sql.literal(
    isPg ? "status IN ('queued', 'running')" : "likelihood(status IN ('queued', 'running'), 0.999)"
  )
  const claimed = (which: Statement.Fragment, leaseMillis: number, limit: number) =>
    limit <= 0 ? Effect.succeed([]) : Effect.map(
      rows<RunRow>(sql`
        UPDATE ${runs} SET status = 'running', lent = 0, epoch = epoch + 1, leased_until = ${now} + ${leaseMillis},
          renewed_at = ${now}, updated_at = ${now}
        WHERE run_id IN (
          SELECT run_id FROM ${runs} WHERE ${which} AND ${isAtWork} AND leased_until <= ${now}
          ORDER BY leased_until, started_at LIMIT ${limit} ${skip}
        ) RETURNING *`),
      (taken) => taken.map(runOf)
    )

  /** One runner at a time. */
  const locked = (agent: string) =>
    Effect.andThen(
      sql`INSERT INTO ${queues} (agent, busy_until) VALUES (${agent}, 0) ON CONFLICT DO NOTHING`,
      Effect.map(
        rows<{ readonly busy: number | string; readonly now: number | string }>(
          sql`SELECT busy_until AS busy, ${now} AS now FROM ${queues} WHERE agent = ${agent} ${lock}`
        ),
        ([row]) => ({ busy: Number(row?.busy ?? 0), at: Number(row?.now ?? 0) })
      )
    )
  /** How many runs of an agent have a place in its queue. */
  const placed = (agent: string, which: Statement.Fragment) =>
    Effect.map(
      rows<{ readonly count: number | string }>(
        sql`SELECT COUNT(*) AS count FROM ${runs} WHERE agent = ${agent} AND status = 'running' AND ${which}`
      ),
      ([running]) => Number(running?.count ?? 0)
    )

  /** Claims of an agent that has a queue: what goes on comes first, and only what begins is counted against the rate. */
  const queued = (
    { agent, queue, versions }: Claimable,
    leaseMillis: number,
    limit: number
  ): Effect.Effect<ReadonlyArray<StoredRun>, SqlError.SqlError> =>
    sql.withTransaction(Effect.gen(function*() {
      const { concurrency = Infinity, rate } = queue!
      const { at, busy } = yield* locked(agent)
      const ofAgent = sql`agent = ${agent} AND ${sql.in("version", versions)}`
      // What is cancelled only ends: no queue holds it up. What has a place keeps it.
      const over = yield* claimed(
        sql`${ofAgent} AND ((status = 'running' AND lent = 0) OR (status IN ('queued', 'running') AND is_cancelled = 1))`,
        leaseMillis,
        limit
      )
      const running = yield* placed(agent, sql`(lent = 0 OR (lent = ${wantsBack} AND leased_until > ${now}))`)
      const free = Math.min(limit - over.length, concurrency - running)
      const again = yield* claimed(
        sql`${ofAgent} AND ((status = 'queued' AND epoch > 0) OR (status = 'running' AND lent > 0))`,
        leaseMillis,
        free
      )
      const interval = rate === undefined ? 0 : rate.perMillis / rate.limit
      const busyUntil = Math.max(busy, at)
      const permitted = rate === undefined ? Infinity : Math.floor((at + rate.perMillis - busyUntil) / interval)
      const left = Math.min(free - again.length, permitted)
      const begun = yield* claimed(sql`${ofAgent} AND status = 'queued' AND epoch = 0`, leaseMillis, left)
      if (rate !== undefined && begun.length > 0) {
        const until = Math.ceil(busyUntil + begun.length * interval)
        yield* sql`UPDATE ${queues} SET busy_until = ${until} WHERE agent = ${agent}`
      }
      return [...over, ...again, ...begun]
    }))

  return {
    claim: ({ agents, leaseMillis, limit, onlyCancelled }) =>
      failing(
        "claim",
        Effect.gen(function*() {
          if (onlyCancelled === true && agents.length > 0) {
            return yield* claimed(
              sql`${ofAgents(agents)} AND is_cancelled = 1`,
              leaseMillis,
              limit
            )
          }
          const free = agents.filter(({ queue }) => queue === undefined)
          const all: Array<StoredRun> = free.length === 0 ? [] : [
            ...yield* claimed(sql`${ofAgents(free)}`, leaseMillis, limit)
          ]
          for (const one of agents) {
            if (one.queue !== undefined && all.length < limit) {
              all.push(...yield* queued(one, leaseMillis, limit - all.length))
            }
          }
          return all
        })
      ),
    due: ({ agents, forMillis, limit }) =>
      failing(
        "due",
        Effect.map(
          agents.length === 0 ? Effect.succeed([]) : rows<RunRow>(sql`
            UPDATE ${runs} SET wake_at = ${now} + ${forMillis} WHERE run_id IN (
              SELECT run_id FROM ${runs} WHERE ${ofAgents(agents)} AND status = 'waiting' AND wake_at > 0
                AND wake_at <= ${now} ORDER BY wake_at LIMIT ${limit} ${skip}
            ) RETURNING *`),
          (found) => found.map(runOf)
        )
      ),
    asked: ({ leg, runId }, { asked, askedOf, wakeInMillis }) => {
      const wake = wakeInMillis === undefined ? sql`0` : sql`${now} + ${Math.max(0, Math.round(wakeInMillis))}`
      return failing(
        "asked",
        Effect.asVoid(sql`UPDATE ${runs} SET asked = ${asked}, asked_of = ${askedOf ?? null}, wake_at = ${wake}
          WHERE run_id = ${runId} AND leg = ${leg} AND status = 'waiting'`)
      )
    },
    adopt: (hold, version) =>
      failing(
        "adopt",
        Effect.map(
          rows<object>(sql`UPDATE ${runs} SET version = ${version} WHERE ${heldAs(hold)} RETURNING run_id`),
          (adopted) => adopted.length > 0
        )
      ),
    renew: (holds, leaseMillis) =>
      failing(
        "renew",
        holds.length === 0 ? Effect.succeed([]) : Effect.map(
          // One statement for all. A run that another holds by now is renewed for that one, at most once.
          rows<Pick<RunRow, "run_id" | "epoch">>(sql`
            UPDATE ${runs} SET leased_until = ${now} + ${leaseMillis}, ran = ran + ${now} - renewed_at, renewed_at = ${now}
            WHERE ${sql.in("run_id", holds.map(({ runId }) => runId))} AND status = 'running' RETURNING run_id, epoch`),
          (renewed) => {
            const epochs = new Map(holds.map(({ epoch, runId }) => [runId, epoch]))
            return renewed.filter(({ epoch, run_id }) => epochs.get(run_id) === epoch).map(({ run_id }) => run_id)
          }
        )
      ),
    wanted: (runIds) =>
      failing(
        "wanted",
        runIds.length === 0 ? Effect.succeed([]) : Effect.map(
          rows<Pick<RunRow, "run_id" | "is_cancelled"> & { readonly is_read: number | boolean }>(
            sql`SELECT run_id, is_cancelled, read_until > ${now} AS is_read FROM ${runs}
              WHERE ${sql.in("run_id", runIds)} AND (is_cancelled = 1 OR read_until > ${now})`
          ),
          (found) =>
            found.map(({ is_cancelled, is_read, run_id }) => ({
              runId: run_id,
              isCancelled: is_cancelled !== 0,
              isRead: Boolean(is_read)
            }))
        )
      ),
    read: (runId, forMillis) =>
      failing(
        "read",
        Effect.asVoid(sql`UPDATE ${runs} SET read_until = ${now} + ${forMillis} WHERE run_id = ${runId}
          AND read_until < ${now} + ${Math.round(forMillis / 2)}`)
      ),
    lend: (hold) => failing("lend", Effect.asVoid(sql`UPDATE ${runs} SET lent = ${isLent} WHERE ${heldAs(hold)}`)),
    reclaim: (hold, concurrency) =>
      failing(
        "reclaim",
        sql.withTransaction(Effect.gen(function*() {
          const [run] = yield* rows<Pick<RunRow, "agent">>(
            sql`UPDATE ${runs} SET lent = ${wantsBack} WHERE ${heldAs(hold)} RETURNING agent`
          )
          if (run === undefined) return false
          yield* locked(run.agent)
          if ((yield* placed(run.agent, sql`lent = 0`)) >= concurrency) return false
          yield* sql`UPDATE ${runs} SET lent = 0 WHERE ${heldAs(hold)}`
          return true
        }))
      ),
    release: (holds) =>
      failing(
        "release",
        Effect.forEach(
          holds,
          (hold) => sql`UPDATE ${runs} SET status = 'queued', leased_until = 0 WHERE ${heldAs(hold)}`,
          { discard: true }
        )
      )
  }
}

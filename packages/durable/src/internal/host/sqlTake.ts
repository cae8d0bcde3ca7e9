/**
 * The operation `take` of a host in SQL: leases, slots in queues, and requests about runs. Leases are by the database's
 * clock.
 */
import * as Effect from "effect/Effect"
import type * as SqlError from "effect/sql/SqlError"
import type * as Statement from "effect/sql/Statement"
import type { Parts } from "../sqlParts.ts"
import { runOf, type RunRow } from "../sqlRows.ts"
import type { Claimable, Host, Lease, LeasedRun, StoredRun, Take } from "../store.ts"

type HeldRow = Pick<RunRow, "run_id" | "epoch" | "is_cancelled"> & {
  readonly lent: number
  readonly is_read: number | boolean
}

/** Makes the operation. */
// oxlint-disable-next-line max-lines-per-function -- the parts of one operation share its tables and its clock
export const sqlTake = ({ failing, fenced, isPg, lock, now, queues, rows, runs, sql, states }: Parts): Host["take"] => {
  const skip = sql.literal(isPg ? "FOR UPDATE SKIP LOCKED" : "")
  const ofAgents = (agents: ReadonlyArray<Claimable>) =>
    sql.or(agents.map(({ agent, versions }) => sql`(agent = ${agent} AND ${sql.in("version", versions)})`))
  const adopting = (agents: ReadonlyArray<Claimable>): Statement.Fragment => {
    const adopted = agents.flatMap(({ adopted, agent }) =>
      Object.entries(adopted ?? {}).map(([from, to]) => sql`WHEN agent = ${agent} AND version = ${from} THEN ${to}`)
    )
    return adopted.length === 0
      ? sql.literal("")
      : sql`, version = CASE ${sql.join(" ", false)(adopted)} ELSE version END`
  }
  /**
   * SQLite uses the index of claimable rows, which is in the order of claims, only with the hint that most of its rows
   * match.
   */
  const isAtWork = isPg ? states.from("claim") : sql`likelihood(${states.from("claim")}, 0.999)`
  /** Takes runs. Those that another version continues are of that version from then on. */
  const claimed = (
    agents: ReadonlyArray<Claimable>,
    which: Statement.Fragment,
    { leaseMillis = 0, only }: Take,
    limit: number
  ) =>
    limit <= 0 ? Effect.succeed([]) : Effect.map(
      rows<RunRow>(sql`
        UPDATE ${runs} SET ${states.to("claim")}, epoch = epoch + 1, leased_until = ${now} + ${leaseMillis},
          renewed_at = ${now}, updated_at = ${now}${adopting(agents)}
        WHERE run_id IN (
          SELECT run_id FROM ${runs} WHERE ${which} AND ${isAtWork} AND leased_until <= ${now} ${
        only === undefined ? sql.literal("") : sql`AND ${sql.in("run_id", only)}`
      }
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
  /** Number of runs of an agent with a slot in its queue. */
  const placed = (agent: string, which: Statement.Fragment) =>
    Effect.map(
      rows<{ readonly count: number | string }>(
        sql`SELECT COUNT(*) AS count FROM ${runs} WHERE agent = ${agent} AND status = 'running' AND ${which}`
      ),
      ([running]) => Number(running?.count ?? 0)
    )

  /** Claims of an agent with a queue: continuing runs come first, and only starts count against the rate. */
  const queued = (
    claimable: Claimable,
    wanted: Take,
    limit: number
  ): Effect.Effect<ReadonlyArray<StoredRun>, SqlError.SqlError> =>
    sql.withTransaction(Effect.gen(function*() {
      const { agent, queue, versions } = claimable
      const { concurrency = Infinity, rate } = queue!
      const { at, busy } = yield* locked(agent)
      const ofAgent = sql`agent = ${agent} AND ${sql.in("version", versions)}`
      // A cancelled run only ends: no queue delays it. A run with a slot keeps it.
      const over = yield* claimed(
        [claimable],
        sql`${ofAgent} AND ((status = 'running' AND lent = 0) OR (status IN ('queued', 'running') AND is_cancelled = 1))`,
        wanted,
        limit
      )
      const running = yield* placed(agent, sql`(lent = 0 OR (lent = 2 AND leased_until > ${now}))`)
      const free = Math.min(limit - over.length, concurrency - running)
      const again = yield* claimed(
        [claimable],
        sql`${ofAgent} AND ((status = 'queued' AND epoch > 0) OR (status = 'running' AND lent > 0))`,
        wanted,
        free
      )
      const interval = rate === undefined ? 0 : rate.perMillis / rate.limit
      const busyUntil = Math.max(busy, at)
      const permitted = rate === undefined ? Infinity : Math.floor((at + rate.perMillis - busyUntil) / interval)
      const left = Math.min(free - again.length, permitted)
      const begun = yield* claimed([claimable], sql`${ofAgent} AND status = 'queued' AND epoch = 0`, wanted, left)
      if (rate !== undefined && begun.length > 0) {
        const until = Math.ceil(busyUntil + begun.length * interval)
        yield* sql`UPDATE ${queues} SET busy_until = ${until} WHERE agent = ${agent}`
      }
      return [...over, ...again, ...begun]
    }))

  const claim = Effect.fnUntraced(function*(
    wanted: Take
  ): Effect.fn.Return<ReadonlyArray<StoredRun>, SqlError.SqlError> {
    const { agents = [], limit = 0, onlyCancelled } = wanted
    if (agents.length === 0) return []
    if (onlyCancelled === true) {
      return yield* claimed(agents, sql`${ofAgents(agents)} AND is_cancelled = 1`, wanted, limit)
    }
    const free = agents.filter(({ queue }) => queue === undefined)
    const all: Array<StoredRun> = free.length === 0 ? [] : [
      ...yield* claimed(free, sql`${ofAgents(free)}`, wanted, limit)
    ]
    for (const one of agents) {
      if (one.queue !== undefined && all.length < limit) {
        all.push(...yield* queued(one, wanted, limit - all.length))
      }
    }
    return all
  })

  /** Runs that wait and are due. */
  const dueOf = ({ due = [], leaseMillis = 0, limit = 0 }: Take) =>
    due.length === 0 ? Effect.succeed([]) : Effect.map(
      rows<RunRow>(sql`
        UPDATE ${runs} SET wake_at = ${now} + ${leaseMillis} WHERE run_id IN (
          SELECT run_id FROM ${runs} WHERE ${ofAgents(due)} AND ${states.from("ask")} AND wake_at > 0
            AND wake_at <= ${now} ORDER BY wake_at LIMIT ${limit} ${skip}
        ) RETURNING *`),
      (found) => found.map(runOf)
    )

  /** Takes the place of a run in the queue of its agent back, if one is free. Until then no run takes one that is not further. */
  const regain = (hold: Lease, place: number) =>
    sql.withTransaction(Effect.gen(function*() {
      const [run] = yield* rows<Pick<RunRow, "agent">>(
        sql`UPDATE ${runs} SET ${states.to("request")} WHERE ${fenced("request", hold)} RETURNING agent`
      )
      if (run === undefined) return
      yield* locked(run.agent)
      if ((yield* placed(run.agent, sql`lent = 0`)) >= place) return
      yield* sql`UPDATE ${runs} SET ${states.to("regain")} WHERE ${fenced("regain", hold)}`
    }))

  /** Keeps runs, in one statement. A run that another process owns by now is renewed for that one, at most once. */
  const kept = Effect.fnUntraced(function*(
    { held = [], leaseMillis }: Take
  ): Effect.fn.Return<ReadonlyArray<LeasedRun>, SqlError.SqlError> {
    if (held.length === 0) return []
    for (const { place, ...hold } of held) if (place !== undefined) yield* regain(hold, place)
    const which = sql`${sql.in("run_id", held.map(({ runId }) => runId))} AND ${states.from("release")}`
    const columns = sql`run_id, epoch, is_cancelled, lent, read_until > ${now} AS is_read`
    const found = yield* rows<HeldRow>(
      leaseMillis === undefined
        ? sql`SELECT ${columns} FROM ${runs} WHERE ${which}`
        : sql`UPDATE ${runs} SET leased_until = ${now} + ${leaseMillis}, ran = ran + ${now} - renewed_at, renewed_at = ${now}
          WHERE ${which} RETURNING ${columns}`
    )
    const epochs = new Map(held.map(({ epoch, runId }) => [runId, epoch]))
    return found.filter(({ epoch, run_id }) => epochs.get(run_id) === epoch).map((row) => ({
      runId: row.run_id,
      isCancelled: row.is_cancelled !== 0,
      isRead: Boolean(row.is_read),
      hasPlace: row.lent === 0
    }))
  })

  return (wanted) =>
    failing(
      "take",
      Effect.gen(function*() {
        return { held: yield* kept(wanted), taken: yield* claim(wanted), due: yield* dueOf(wanted) }
      })
    )
}

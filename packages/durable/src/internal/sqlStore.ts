/** Store of durable runs in SQL. Leases are by the database's clock. */
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import type * as SqlClient from "effect/sql/SqlClient"
import type * as SqlError from "effect/sql/SqlError"
import type * as Statement from "effect/sql/Statement"
import { type Hold, RunStoreError, type Step, type Store, type StoredRun } from "./store.ts"
import { runOf, type RunRow, stepOf, type StepRow } from "./sqlRows.ts"
import type { Tables } from "./sqlTables.ts"

/** How many steps one statement adds. */
const batch = 100

const text = (value: Schema.Json | undefined): string | null => value === undefined ? null : JSON.stringify(value)

const ended = ["completed", "failed", "cancelled"]

type Rows<A> = Effect.Effect<ReadonlyArray<A>, SqlError.SqlError>

export const sqlStore = (client: SqlClient.SqlClient, tables: Tables): Store => {
  const sql = client.withoutTransforms()
  const isPg = sql.onDialectOrElse({ pg: () => true, orElse: () => false })
  const runs = sql(tables.runs)
  const steps = sql(tables.steps)
  const decisions = sql(tables.decisions)
  const now = sql.literal(
    isPg
      ? "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)"
      : "CAST(ROUND((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)"
  )
  const failing = <A, E>(operation: string, effect: Effect.Effect<A, E>): Effect.Effect<A, RunStoreError> =>
    Effect.mapError(effect, (reason) => new RunStoreError({ operation, reason }))
  const rows = <A>(statement: Statement.Statement<object>): Rows<A> => statement as unknown as Rows<A>
  const inTransaction = <A>(operation: string, effect: Effect.Effect<A, SqlError.SqlError>) =>
    failing(operation, sql.withTransaction(effect))
  const getRow = (runId: string): Effect.Effect<StoredRun | undefined, SqlError.SqlError> =>
    Effect.map(
      rows<RunRow>(sql`SELECT * FROM ${runs} WHERE run_id = ${runId}`),
      ([row]) => row === undefined ? undefined : runOf(row)
    )
  const heldAs = ({ epoch, runId }: Hold) => sql`run_id = ${runId} AND epoch = ${epoch} AND status = 'running'`
  const lock = isPg ? sql.literal("FOR UPDATE") : sql.literal("")

  /** Locks the rows of the runs, so that nobody takes one over between the check and the insert. */
  const stillHeld = (added: ReadonlyArray<Step>): Effect.Effect<ReadonlySet<string>, SqlError.SqlError> => {
    const holds = new Map(added.map((step) => [`${step.runId}\n${step.epoch}`, step]))
    const ids = [...new Set(added.map(({ runId }) => runId))].toSorted()
    const locked = isPg ? sql.literal("ORDER BY run_id FOR SHARE") : sql.literal("")
    return Effect.map(
      rows<Pick<RunRow, "run_id" | "epoch">>(
        sql`SELECT run_id, epoch FROM ${runs} WHERE ${sql.in("run_id", ids)} AND status = 'running' ${locked}`
      ),
      (found) => new Set(found.map(({ epoch, run_id }) => `${run_id}\n${epoch}`).filter((hold) => holds.has(hold)))
    )
  }
  const insertOf = (rows: ReadonlyArray<Record<string, unknown>>) =>
    sql.insert(rows as readonly [Record<string, unknown>, ...ReadonlyArray<Record<string, unknown>>])
  const rowOf = (step: Step) => ({
    run_id: step.runId,
    position: step.position,
    epoch: step.epoch,
    leg: step.leg,
    kind: step.kind,
    key: step.key,
    value: text(step.value),
    elapsed: Math.round(step.elapsed),
    first_event: step.firstEvent,
    event_count: step.events.length,
    events: JSON.stringify(step.events)
  })
  const added = (batch: ReadonlyArray<Step>): Effect.Effect<ReadonlyArray<boolean>, SqlError.SqlError> =>
    Effect.gen(function*() {
      const held = yield* stillHeld(batch)
      const mine = batch.filter(({ epoch, runId }) => held.has(`${runId}\n${epoch}`))
      if (mine.length === 0) return batch.map(() => false)
      const inserted = yield* rows<Pick<StepRow, "run_id" | "position">>(
        sql`INSERT INTO ${steps} ${insertOf(mine.map(rowOf))} ON CONFLICT DO NOTHING RETURNING run_id, position`
      )
      const known = new Set(inserted.map(({ position, run_id }) => `${run_id}\n${position}`))
      for (const step of mine) {
        if (known.has(`${step.runId}\n${step.position}`)) continue
        // The answer of an earlier try was lost, or another holder was faster.
        const there = yield* rows<StepRow>(
          sql`SELECT * FROM ${steps} WHERE run_id = ${step.runId} AND position = ${step.position}`
        )
        if (there[0]?.epoch === step.epoch && there[0].key === step.key) known.add(`${step.runId}\n${step.position}`)
      }
      return batch.map(({ position, runId }) => known.has(`${runId}\n${position}`))
    })
  const append = (all: ReadonlyArray<Step>) =>
    Effect.map(
      Effect.forEach(
        Array.from({ length: Math.ceil(all.length / batch) }, (_, n) => all.slice(n * batch, (n + 1) * batch)),
        (some) => sql.withTransaction(added(some))
      ),
      (answers) => answers.flat()
    )

  return {
    insert: (run) =>
      inTransaction(
        "insert",
        Effect.gen(function*() {
          const inserted = yield* rows<RunRow>(sql`
            INSERT INTO ${runs} (run_id, agent, version, owner, status, epoch, leg, is_cancelled, leased_until, started_at,
              updated_at, input, pending)
            VALUES (${run.runId}, ${run.agent}, ${run.version}, ${
            run.owner ?? null
          }, 'queued', 0, 0, 0, 0, ${now}, ${now},
              ${JSON.stringify(run.input)}, '[]')
            ON CONFLICT DO NOTHING RETURNING *`)
          if (inserted[0] !== undefined) return { run: runOf(inserted[0]), isNew: true }
          return { run: (yield* getRow(run.runId))!, isNew: false }
        })
      ),
    claim: ({ agents, leaseMillis, limit }) =>
      failing(
        "claim",
        Effect.map(
          agents.length === 0 ? Effect.succeed([]) : rows<RunRow>(sql`
            UPDATE ${runs} SET status = 'running', epoch = epoch + 1, leased_until = ${now} + ${leaseMillis},
              updated_at = ${now}
            WHERE run_id IN (
              SELECT run_id FROM ${runs} WHERE ${sql.in("agent", agents)} AND status IN ('queued', 'running')
                AND leased_until <= ${now}
              ORDER BY leased_until, started_at LIMIT ${limit} ${
            isPg ? sql.literal("FOR UPDATE SKIP LOCKED") : sql.literal("")
          }
            ) RETURNING *`),
          (taken) => taken.map(runOf)
        )
      ),
    renew: (holds, leaseMillis) =>
      failing(
        "renew",
        holds.length === 0 ? Effect.succeed([]) : Effect.map(
          // One statement for all. A run that another holds by now is renewed for that one, at most once.
          rows<Pick<RunRow, "run_id" | "epoch">>(sql`
            UPDATE ${runs} SET leased_until = ${now} + ${leaseMillis}
            WHERE ${sql.in("run_id", holds.map(({ runId }) => runId))} AND status = 'running' RETURNING run_id, epoch`),
          (renewed) => {
            const epochs = new Map(holds.map(({ epoch, runId }) => [runId, epoch]))
            return renewed.filter(({ epoch, run_id }) => epochs.get(run_id) === epoch).map(({ run_id }) => run_id)
          }
        )
      ),
    cancelled: (runIds) =>
      failing(
        "cancelled",
        runIds.length === 0 ? Effect.succeed([]) : Effect.map(
          rows<Pick<RunRow, "run_id">>(
            sql`SELECT run_id FROM ${runs} WHERE ${sql.in("run_id", runIds)} AND is_cancelled = 1`
          ),
          (found) => found.map(({ run_id }) => run_id)
        )
      ),
    load: (runId, leg) =>
      failing(
        "load",
        Effect.gen(function*() {
          const found = yield* rows<StepRow>(
            sql`SELECT * FROM ${steps} WHERE run_id = ${runId} AND leg = ${leg} ORDER BY position`
          )
          const [last] = yield* rows<StepRow>(
            sql`SELECT * FROM ${steps} WHERE run_id = ${runId} ORDER BY position DESC LIMIT 1`
          )
          return {
            steps: found.map(stepOf),
            lastEpoch: last?.epoch ?? 0,
            positions: last === undefined ? 0 : last.position + 1,
            events: last === undefined ? 0 : last.first_event + last.event_count
          }
        })
      ),
    append: (all) => failing("append", append(all)),
    settle: (hold, { last, outcome, pending, snapshot, status }) =>
      inTransaction(
        "settle",
        Effect.gen(function*() {
          const [isAdded] = yield* added([last])
          if (isAdded !== true) {
            // The answer of an earlier try was lost.
            const [there] = yield* rows<StepRow>(
              sql`SELECT * FROM ${steps} WHERE run_id = ${hold.runId} AND position = ${last.position}`
            )
            return there !== undefined && there.epoch === hold.epoch && there.key === last.key
          }
          const waits = status === "waiting"
          yield* sql`
            UPDATE ${runs} SET status = ${status}, leased_until = 0, updated_at = ${now}, pending = ${
            JSON.stringify(pending)
          },
              outcome = ${text(outcome)} ${
            waits ? sql`, snapshot = ${text(snapshot)}, leg = leg + 1` : sql.literal("")
          } WHERE ${heldAs(hold)}`
          if (!waits) return true
          const leg = last.leg + 1
          const left = yield* rows<object>(
            sql`UPDATE ${decisions} SET leg = ${leg} WHERE run_id = ${hold.runId} AND leg = ${last.leg} AND is_used = 0
              RETURNING call_id`
          )
          yield* sql`UPDATE ${runs} SET status = 'cancelled', pending = '[]' WHERE run_id = ${hold.runId} AND is_cancelled = 1`
          if (left.length > 0) {
            yield* sql`UPDATE ${runs} SET status = 'queued' WHERE run_id = ${hold.runId} AND status = 'waiting'`
          }
          return true
        })
      ),
    release: (holds) =>
      failing(
        "release",
        Effect.forEach(
          holds,
          (hold) => sql`UPDATE ${runs} SET status = 'queued', leased_until = 0 WHERE ${heldAs(hold)}`,
          { discard: true }
        )
      ),
    decide: (runId, leg, decided) =>
      inTransaction(
        "decide",
        Effect.gen(function*() {
          const [run] = yield* rows<RunRow>(sql`SELECT * FROM ${runs} WHERE run_id = ${runId} ${lock}`)
          if (run?.leg !== leg) return { decidedBefore: decided[0]?.callId }
          const ids = decided.map(({ callId }) => callId)
          const [before] = yield* rows<{ readonly call_id: string }>(
            sql`SELECT call_id FROM ${decisions} WHERE run_id = ${runId} AND leg = ${leg} AND ${sql.in("call_id", ids)}`
          )
          if (before !== undefined) return { decidedBefore: before.call_id }
          yield* sql`INSERT INTO ${decisions} ${
            insertOf(decided.map(({ callId, decision }) => ({
              run_id: runId,
              leg,
              call_id: callId,
              is_used: 0,
              decision: text(decision)
            })))
          }`
          yield* sql`UPDATE ${runs} SET status = 'queued', updated_at = ${now} WHERE run_id = ${runId}
            AND status = 'waiting'`
          return { decidedBefore: undefined }
        })
      ),
    decisions: (hold, leg) =>
      inTransaction(
        "decisions",
        Effect.gen(function*() {
          const [run] = yield* rows<RunRow>(sql`SELECT * FROM ${runs} WHERE ${heldAs(hold)} ${lock}`)
          if (run === undefined) return []
          const ofLeg = sql`run_id = ${hold.runId} AND leg = ${leg}`
          const fixed = yield* rows<{ readonly decision: string }>(
            sql`SELECT decision FROM ${decisions} WHERE ${ofLeg} AND is_used = 1 ORDER BY call_id`
          )
          const used = fixed.length > 0 ? fixed : yield* rows<{ readonly decision: string }>(
            sql`UPDATE ${decisions} SET is_used = 1 WHERE ${ofLeg} RETURNING decision`
          )
          return used.map(({ decision }) => JSON.parse(decision) as Schema.Json)
        })
      ),
    cancel: (runId) =>
      failing(
        "cancel",
        Effect.map(
          rows<object>(sql`
            UPDATE ${runs} SET is_cancelled = 1, updated_at = ${now},
              status = CASE WHEN status = 'running' THEN status ELSE 'cancelled' END,
              pending = CASE WHEN status = 'running' THEN pending ELSE '[]' END
            WHERE run_id = ${runId} AND status NOT IN ('completed', 'failed', 'cancelled') RETURNING run_id`),
          (changed) => changed.length > 0
        )
      ),
    get: (runId) => failing("get", getRow(runId)),
    events: (runId, from) =>
      failing(
        "events",
        Effect.map(
          rows<StepRow>(sql`
            SELECT * FROM ${steps} WHERE run_id = ${runId} AND first_event + event_count > ${from} ORDER BY position LIMIT 500`),
          (found) =>
            found.map(stepOf).flatMap(({ events, firstEvent }) =>
              events.map((event, index) => ({ number: firstEvent + index, event }))
            ).filter(({ number }) => number >= from)
        )
      ),
    list: ({ agent, limit = 100, owner, startedBefore, status }) => {
      const conditions = [
        sql`1 = 1`,
        ...(agent === undefined ? [] : [sql`agent = ${agent}`]),
        ...(owner === undefined ? [] : [sql`owner = ${owner}`]),
        ...(status === undefined ? [] : [sql`status = ${status}`]),
        ...(startedBefore === undefined ? [] : [sql`started_at < ${startedBefore}`])
      ]
      return failing(
        "list",
        Effect.map(
          rows<RunRow>(
            sql`SELECT * FROM ${runs} WHERE ${sql.and(conditions)} ORDER BY started_at DESC LIMIT ${limit}`
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
              sql.in("status", ended)
            } AND updated_at <= ${now} - ${olderThanMillis}
              LIMIT 1000`
          )
          if (old.length === 0) return 0
          const ids = old.map(({ run_id }) => run_id)
          yield* sql`DELETE FROM ${steps} WHERE ${sql.in("run_id", ids)}`
          yield* sql`DELETE FROM ${decisions} WHERE ${sql.in("run_id", ids)}`
          yield* sql`DELETE FROM ${runs} WHERE ${sql.in("run_id", ids)}`
          return old.length
        })
      )
  }
}

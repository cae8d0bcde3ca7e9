/** Index of runs in three tables of PostgreSQL or SQLite. */
import * as Effect from "effect/Effect"
import type * as SqlClient from "effect/sql/SqlClient"
import type * as SqlError from "effect/sql/SqlError"
import type * as Statement from "effect/sql/Statement"
import { RunsUnavailable, type Status } from "@recourse/core/Runs"
import {
  type CallFacts,
  type Check,
  ledgerRun,
  type OpenOutcome,
  type RunFacts,
  type RunFilter,
  type RunIndexService,
  type RunSummary
} from "./types.ts"
import { likenessOf } from "./runFacts.ts"
import { sqlFind } from "./sqlFind.ts"
import { sqlOverview } from "./sqlOverview.ts"

interface SummaryRow {
  readonly run_id: string
  readonly status: Status
  readonly updated_at: number | string
  readonly summary: string
  readonly open: number | string
}

interface OutcomeRow {
  readonly run_id: string
  readonly agent: string
  readonly owner: string | null
  readonly call_facts: string
  readonly check_facts: string | null
}

class SqlIndex {
  readonly sql: SqlClient.SqlClient
  readonly runs: Statement.Identifier
  readonly calls: Statement.Identifier
  readonly checks: Statement.Identifier

  constructor(sql: SqlClient.SqlClient, table: string) {
    this.sql = sql
    this.runs = sql(`${table}_runs`)
    this.calls = sql(`${table}_calls`)
    this.checks = sql(`${table}_checks`)
  }

  /** Number of calls of a run that a person has to check. */
  get open(): Statement.Fragment {
    const { calls, checks, sql } = this
    return sql`(SELECT COUNT(*) FROM ${calls} c WHERE c.run_id = r.run_id AND c.state IN ('unknown', 'not_undone') AND NOT EXISTS (SELECT 1 FROM ${checks} k WHERE k.run_id = c.run_id AND k.span_id = c.span_id))`
  }

  readonly put = (facts: RunFacts) => {
    const { calls, runs, sql } = this
    const { runId, summary } = facts
    const row = {
      run_id: runId,
      agent: facts.agent,
      owner: facts.owner ?? null,
      status: facts.status,
      started_at: facts.startedAt,
      updated_at: facts.updatedAt,
      words: facts.words,
      likeness: likenessOf(facts),
      pending: facts.pending,
      waiting_since: facts.waitingSince,
      worked: summary.worked,
      cost: summary.cost,
      tokens: summary.tokens,
      retries: summary.retries,
      fixes: summary.fixes,
      undone: summary.undone,
      code: summary.code ?? null,
      summary: JSON.stringify(summary)
    }
    const callRow = (call: CallFacts): Record<string, string | number | null> => ({
      run_id: runId,
      span_id: call.spanId,
      tool: call.tool.slice(0, 255),
      at: Math.trunc(call.at),
      is_failure: Number(call.isFailure),
      code: call.code ?? null,
      is_retried: Number(call.isRetried),
      is_fixed: Number(call.isFixed),
      is_fallback: Number(call.isFallback),
      is_escalated: Number(call.isEscalated),
      state: call.state ?? null,
      entry: call.entry ?? null,
      facts: JSON.stringify(call)
    })
    const pages = Array.from(
      { length: Math.ceil(facts.calls.length / 50) },
      (_, page) => facts.calls.slice(page * 50, page * 50 + 50)
    )
    return sql.withTransaction(Effect.gen(function*() {
      yield* sql`DELETE FROM ${runs} WHERE run_id = ${runId}`
      yield* sql`DELETE FROM ${calls} WHERE run_id = ${runId}`
      yield* sql`INSERT INTO ${runs} ${sql.insert(row)}`
      for (const page of pages) {
        yield* sql`INSERT INTO ${calls} ${sql.insert(page.map(callRow) as [ReturnType<typeof callRow>])}`
      }
    }))
  }

  readonly summaries = (runIds: ReadonlyArray<string>) => {
    const { open, runs, sql } = this
    if (runIds.length === 0) return Effect.succeed(new Map<string, never>())
    const rows = sql<
      SummaryRow
    >`SELECT r.run_id, r.status, r.updated_at, r.summary, ${open} AS open FROM ${runs} r WHERE ${
      sql.in("r.run_id", runIds)
    }`
    return Effect.map(rows, (found) =>
      new Map(found.map((row) => {
        const summary = JSON.parse(row.summary) as Omit<RunSummary, "unknown">
        return [row.run_id, {
          status: row.status,
          updatedAt: Number(row.updated_at),
          summary: { ...summary, unknown: Number(row.open) }
        }]
      })))
  }

  readonly find = (filter: RunFilter) => sqlFind(this, filter)

  readonly outcomes = ({ agents, limit, runId }: Parameters<RunIndexService["outcomes"]>[0]) => {
    const { calls, checks, runs, sql } = this
    const conditions = [
      runId === undefined
        ? sql`c.state IN ('unknown', 'not_undone') AND k.span_id IS NULL`
        : sql`c.state IS NOT NULL AND c.run_id = ${runId}`,
      ...(agents === undefined ? [] : agents.length === 0 ? [sql`1 = 0`] : [sql.in("r.agent", agents)])
    ]
    const rows = sql<
      OutcomeRow
    >`SELECT r.run_id, r.agent, r.owner, c.facts AS call_facts, k.facts AS check_facts FROM ${calls} c JOIN ${runs} r ON r.run_id = c.run_id LEFT JOIN ${checks} k ON k.run_id = c.run_id AND k.span_id = c.span_id WHERE ${
      sql.and(conditions)
    } ORDER BY c.at DESC, c.span_id DESC LIMIT ${limit}`
    return Effect.map(rows, (found) =>
      found.map(({ agent, call_facts, check_facts, owner, run_id }): OpenOutcome => ({
        run: { runId: run_id, agent, ...(owner === null ? undefined : { owner }) },
        call: JSON.parse(call_facts) as CallFacts,
        ...(check_facts === null ? undefined : { check: JSON.parse(check_facts) as Check })
      })))
  }

  readonly check = (runId: string, check: Check) => {
    const { checks, sql } = this
    const row = { run_id: runId, span_id: check.spanId, at: Math.trunc(check.at), facts: JSON.stringify(check) }
    return sql`INSERT INTO ${checks} ${
      sql.insert(row)
    } ON CONFLICT (run_id, span_id) DO UPDATE SET at = excluded.at, facts = excluded.facts`
  }

  readonly checked = (entry: string) => {
    const { calls, checks, sql } = this
    const rows = sql<
      { readonly facts: string }
    >`SELECT k.facts FROM ${checks} k LEFT JOIN ${calls} c ON c.run_id = k.run_id AND c.span_id = k.span_id WHERE c.entry = ${entry} OR (k.run_id = ${ledgerRun} AND k.span_id = ${entry}) ORDER BY k.at DESC LIMIT 1`
    return Effect.map(rows, ([row]) => row === undefined ? undefined : JSON.parse(row.facts) as Check)
  }

  readonly forget = (runId: string) => {
    const { runs, sql } = this
    return sql`DELETE FROM ${runs} WHERE run_id = ${runId}`
  }

  get unfinished() {
    const { runs, sql } = this
    return Effect.map(
      sql<
        { readonly run_id: string }
      >`SELECT run_id FROM ${runs} WHERE status IN ('queued', 'running', 'waiting') LIMIT 500`,
      (rows) => rows.map(({ run_id }) => run_id)
    )
  }
}

/** An index in the tables of a name. */
export const sqlIndex = (sql: SqlClient.SqlClient, table: string): RunIndexService => {
  const index = new SqlIndex(sql, table)
  const stored = (operation: string) => <A>(effect: Effect.Effect<A, SqlError.SqlError>) =>
    Effect.mapError(effect, (reason) => new RunsUnavailable({ operation, reason }))
  return {
    put: (facts) => Effect.asVoid(stored("index a run")(index.put(facts))),
    summaries: (runIds) => stored("summaries of runs")(index.summaries(runIds)),
    unfinished: Effect.suspend(() => stored("unfinished runs")(index.unfinished)),
    forget: (runId) => Effect.asVoid(stored("forget a run")(index.forget(runId))),
    find: (filter) => stored("find runs")(index.find(filter)),
    outcomes: (query) => stored("outcomes of calls")(index.outcomes(query)),
    check: (runId, check) => Effect.asVoid(stored("check an outcome")(index.check(runId, check))),
    checked: (entry) => stored("a checked outcome")(index.checked(entry)),
    overview: (query) => stored("overview of runs")(sqlOverview(index, query))
  }
}

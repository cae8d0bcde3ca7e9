/** Overview of runs by SQL: one query for each count, the same on PostgreSQL and SQLite. */
import * as Effect from "effect/Effect"
import type * as SqlClient from "effect/sql/SqlClient"
import type * as SqlError from "effect/sql/SqlError"
import type * as Statement from "effect/sql/Statement"
import type { Overview, OverviewQuery } from "./types.ts"
import { recoveryKinds } from "./recoveryKinds.ts"

/** The tables of an index, and the count of run `r`'s calls that a person has to check. */
export interface IndexTables {
  readonly sql: SqlClient.SqlClient
  readonly runs: Statement.Identifier
  readonly calls: Statement.Identifier
  readonly checks: Statement.Identifier
  readonly open: Statement.Fragment
}

/** A row of numbers. PostgreSQL gives its large ones as texts. */
type Numbers = Readonly<Record<string, number | string | null>>

const number = (value: number | string | null | undefined): number => Number(value ?? 0)

/** Counts the runs that started within a time. */
export const sqlOverview = (
  { calls, checks, open, runs, sql }: IndexTables,
  { agents, from, parts, to }: OverviewQuery
): Effect.Effect<Overview, SqlError.SqlError> => {
  const length = Math.max(1, Math.ceil((to - from) / parts))
  const visible = agents === undefined ? sql`1 = 1` : agents.length === 0 ? sql`1 = 0` : sql.in("r.agent", agents)
  const within = sql`r.started_at >= ${from} AND r.started_at < ${to} AND ${visible}`
  const isChecked = sql`EXISTS (SELECT 1 FROM ${checks} k WHERE k.run_id = c.run_id AND k.span_id = c.span_id)`
  const count = (condition: Statement.Fragment) => sql`SUM(CASE WHEN ${condition} THEN 1 ELSE 0 END)`
  const statuses = sql<
    Numbers & { readonly status: string }
  >`SELECT r.status AS status, COUNT(*) AS runs, SUM(r.cost) AS cost, SUM(r.tokens) AS tokens FROM ${runs} r WHERE ${within} GROUP BY r.status`
  const times = sql<
    Numbers
  >`SELECT MIN(CASE WHEN q.n >= (q.c * 50 + 99) / 100 THEN q.worked END) AS p50, MIN(CASE WHEN q.n >= (q.c * 95 + 99) / 100 THEN q.worked END) AS p95 FROM (SELECT r.worked AS worked, ROW_NUMBER() OVER (ORDER BY r.worked) AS n, COUNT(*) OVER () AS c FROM ${runs} r WHERE ${within} AND r.status IN ('completed', 'failed', 'cancelled')) q`
  const series = sql<
    Numbers
  >`SELECT q.part AS part, COUNT(*) AS runs, SUM(q.failed) AS failed, SUM(q.unknown) AS unknown FROM (SELECT CAST((r.started_at - ${from}) / ${length} AS BIGINT) AS part, CASE WHEN r.status = 'failed' THEN 1 ELSE 0 END AS failed, CASE WHEN ${open} > 0 THEN 1 ELSE 0 END AS unknown FROM ${runs} r WHERE ${within}) q GROUP BY q.part`
  const failures = sql<
    Numbers & { readonly tool: string; readonly code: string }
  >`SELECT c.tool AS tool, COALESCE(c.code, 'failure') AS code, COUNT(*) AS failed FROM ${calls} c JOIN ${runs} r ON r.run_id = c.run_id WHERE ${within} AND c.is_failure = 1 GROUP BY c.tool, COALESCE(c.code, 'failure') ORDER BY failed DESC, tool, code LIMIT 20`
  const recovery = sql<
    Numbers
  >`SELECT SUM(c.is_retried) AS retry, SUM(c.is_retried * (1 - c.is_failure)) AS retry_ok, SUM(c.is_fixed) AS fix, SUM(c.is_fixed * (1 - c.is_failure)) AS fix_ok, SUM(c.is_fallback) AS fallback, SUM(c.is_fallback * (1 - c.is_failure)) AS fallback_ok, SUM(c.is_escalated) AS escalation, SUM(c.is_escalated * (1 - c.is_failure)) AS escalation_ok FROM ${calls} c JOIN ${runs} r ON r.run_id = c.run_id WHERE ${within}`
  const outcomes = sql<Numbers>`SELECT ${count(sql`c.state = 'unknown' AND NOT ${isChecked}`)} AS unknown, ${
    count(sql`c.state IN ('unknown', 'not_undone') AND ${isChecked}`)
  } AS checked, ${count(sql`c.state = 'undone'`)} AS undone, ${
    count(sql`c.state = 'not_undone' AND NOT ${isChecked}`)
  } AS not_undone FROM ${calls} c JOIN ${runs} r ON r.run_id = c.run_id WHERE ${within} AND c.state IS NOT NULL`
  const waiting = sql<
    Numbers
  >`SELECT SUM(r.pending) AS calls, MIN(r.waiting_since) AS since FROM ${runs} r WHERE r.status = 'waiting' AND r.pending > 0 AND ${visible}`
  return Effect.map(
    Effect.all({ statuses, times, series, failures, recovery, outcomes, waiting }),
    (found): Overview => {
      const [times = {}, recovery = {}, outcomes = {}, waiting = {}] = [
        found.times[0],
        found.recovery[0],
        found.outcomes[0],
        found.waiting[0]
      ]
      const sum = (field: string): number => found.statuses.reduce((sum, row) => sum + number(row[field]), 0)
      const byPart = new Map(found.series.map((row) => [number(row["part"]), row]))
      return {
        runs: sum("runs"),
        byStatus: Object.fromEntries(found.statuses.map((row) => [row.status, number(row["runs"])])),
        cost: sum("cost"),
        tokens: sum("tokens"),
        ...(times["p50"] == null || times["p95"] == null
          ? undefined
          : { p50: number(times["p50"]), p95: number(times["p95"]) }),
        series: Array.from({ length: parts }, (_, part) => {
          const row = byPart.get(part)
          return {
            at: from + part * length,
            runs: number(row?.["runs"]),
            failed: number(row?.["failed"]),
            unknown: number(row?.["unknown"])
          }
        }),
        failures: found.failures.map(({ code, failed, tool }) => ({ tool, code, count: number(failed) })),
        recovery: recoveryKinds.map(([kind]) => ({
          kind,
          used: number(recovery[kind]),
          succeeded: number(recovery[`${kind}_ok`])
        })),
        outcomes: {
          unknown: number(outcomes["unknown"]),
          checked: number(outcomes["checked"]),
          undone: number(outcomes["undone"]),
          notUndone: number(outcomes["not_undone"])
        },
        waiting: {
          calls: number(waiting["calls"]),
          ...(waiting["since"] == null ? undefined : { since: number(waiting["since"]) })
        }
      }
    }
  )
}

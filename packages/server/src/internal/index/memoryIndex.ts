/** Index of runs in the memory of the process. */
import * as Effect from "effect/Effect"
import { isEnded, newestFirst } from "@recourse/core/Runs"
import type {
  CallFacts,
  Check,
  OpenOutcome,
  Overview,
  OverviewQuery,
  RunFacts,
  RunFilter,
  RunIndexService,
  RunSummary
} from "./types.ts"
import { ledgerRun } from "./types.ts"
import { recoveryKinds } from "./recoveryKinds.ts"
import { isOpenState, likenessOf } from "./runFacts.ts"

const checkKey = (runId: string, spanId: string): string => JSON.stringify([runId, spanId])

/** The value below which so many percent of the sorted values are. */
const percentile = (sorted: ReadonlyArray<number>, percent: number): number | undefined =>
  sorted[Math.max(0, Math.floor((sorted.length * percent + 99) / 100) - 1)]

/** So many runs are remembered: those that were indexed first are forgotten. */
const mostRuns = 50_000

class MemoryIndex {
  readonly runs = new Map<string, RunFacts>()
  readonly checks = new Map<string, Check>()

  put(facts: RunFacts): void {
    this.runs.set(facts.runId, facts)
    if (this.runs.size > mostRuns) this.runs.delete(this.runs.keys().next().value!)
  }

  check(runId: string, { spanId }: CallFacts): Check | undefined {
    return this.checks.get(checkKey(runId, spanId))
  }

  isOpen(runId: string, call: CallFacts): boolean {
    return isOpenState(call.state) && this.check(runId, call) === undefined
  }

  open({ calls, runId }: RunFacts): number {
    return calls.filter((call) => this.isOpen(runId, call)).length
  }

  summary(facts: RunFacts): RunSummary {
    return { ...facts.summary, unknown: this.open(facts) }
  }

  hasState(facts: RunFacts, state: NonNullable<RunFilter["state"]>): boolean {
    switch (state) {
      case "unknown":
        return this.open(facts) > 0
      case "undone":
        return facts.summary.undone > 0
      case "retried":
        return facts.summary.retries > 0
      case "fixed":
        return facts.summary.fixes > 0
    }
  }

  isFound(facts: RunFacts, filter: RunFilter, likeness: string | undefined): boolean {
    const { agent, calls, owner, runId, startedAt, status, summary, words } = facts
    const { behind, code, state, text, tool } = filter
    return (filter.agents?.includes(agent) ?? true) &&
      (filter.owner === undefined || owner === filter.owner) &&
      (filter.status === undefined || status === filter.status) &&
      runId.startsWith(filter.idPrefix ?? "") &&
      startedAt >= (filter.startedAfter ?? -Infinity) && startedAt < (filter.startedBefore ?? Infinity) &&
      (text === undefined || words.includes(text.toLowerCase())) &&
      (tool === undefined || calls.some((call) => call.tool === tool)) &&
      (code === undefined || summary.code === code || calls.some((call) => call.code === code)) &&
      (state === undefined || this.hasState(facts, state)) &&
      summary.worked >= (filter.minWorked ?? 0) && summary.cost >= (filter.minCost ?? 0) &&
      (filter.like === undefined || likenessOf(facts) === likeness) &&
      (behind === undefined || newestFirst(behind, facts) < 0)
  }

  overview({ agents, from, parts, to }: OverviewQuery): Overview {
    const visible = [...this.runs.values()].filter(({ agent }) => agents?.includes(agent) ?? true)
    const runs = visible.filter(({ startedAt }) => startedAt >= from && startedAt < to)
    const calls = runs.flatMap(({ calls, runId }) => calls.map((call) => ({ call, runId })))
    const worked = runs.filter(({ status }) => isEnded(status)).map(({ summary }) => summary.worked)
      .toSorted((a, b) => a - b)
    const length = Math.max(1, Math.ceil((to - from) / parts))
    const [p50, p95] = [percentile(worked, 50), percentile(worked, 95)]
    const failures = Map.groupBy(
      calls.filter(({ call }) => call.isFailure),
      ({ call }) => JSON.stringify([call.tool, call.code ?? "failure"])
    )
    const waiting = visible.filter(({ pending, status }) => status === "waiting" && pending > 0)
    const since = Math.min(...waiting.map(({ waitingSince }) => waitingSince))
    const outcomes = (is: (call: CallFacts, isChecked: boolean) => boolean): number =>
      calls.filter(({ call, runId }) => is(call, this.check(runId, call) !== undefined)).length
    return {
      runs: runs.length,
      byStatus: Object.fromEntries(
        [...Map.groupBy(runs, ({ status }) => status)].map(([status, { length }]) => [status, length])
      ),
      cost: runs.reduce((sum, { summary }) => sum + summary.cost, 0),
      tokens: runs.reduce((sum, { summary }) => sum + summary.tokens, 0),
      ...(p50 === undefined || p95 === undefined ? undefined : { p50, p95 }),
      series: Array.from({ length: parts }, (_, part) => {
        const at = from + part * length
        const within = runs.filter(({ startedAt }) => startedAt >= at && startedAt < at + length)
        return {
          at,
          runs: within.length,
          failed: within.filter(({ status }) => status === "failed").length,
          unknown: within.filter((facts) => this.open(facts) > 0).length
        }
      }),
      failures: [...failures].map(([key, { length: count }]) => {
        const [tool = "", code = ""] = JSON.parse(key) as ReadonlyArray<string>
        return { tool, code, count }
      }).toSorted((a, b) =>
        b.count - a.count || (a.tool < b.tool ? -1 : a.tool > b.tool ? 1 : a.code < b.code ? -1 : 1)
      ).slice(0, 20),
      recovery: recoveryKinds.map(([kind, field]) => {
        const used = calls.filter(({ call }) => call[field])
        return { kind, used: used.length, succeeded: used.filter(({ call }) => !call.isFailure).length }
      }),
      outcomes: {
        unknown: outcomes(({ state }, isChecked) => state === "unknown" && !isChecked),
        checked: outcomes(({ state }, isChecked) => isOpenState(state) && isChecked),
        undone: outcomes(({ state }) => state === "undone"),
        notUndone: outcomes(({ state }, isChecked) => state === "not_undone" && !isChecked)
      },
      waiting: {
        calls: waiting.reduce((sum, { pending }) => sum + pending, 0),
        ...(waiting.length === 0 ? undefined : { since })
      }
    }
  }
}

/** An empty index. */
export const memoryIndex = (): RunIndexService => {
  const index = new MemoryIndex()
  return {
    put: (facts) => Effect.sync(() => index.put(facts)),
    summaries: (runIds) =>
      Effect.sync(() =>
        new Map(runIds.flatMap((runId) => {
          const facts = index.runs.get(runId)
          if (facts === undefined) return []
          const { status, updatedAt } = facts
          return [[runId, { updatedAt, status, summary: index.summary(facts) }] as const]
        }))
      ),
    unfinished: Effect.sync(() =>
      [...index.runs.values()].filter(({ status }) => !isEnded(status)).map(({ runId }) => runId).slice(0, 500)
    ),
    forget: (runId) => Effect.sync(() => void index.runs.delete(runId)),
    find: (filter) =>
      Effect.sync(() => {
        const model = filter.like === undefined ? undefined : index.runs.get(filter.like)
        const likeness = model === undefined ? undefined : likenessOf(model)
        return [...index.runs.values()].filter((facts) => index.isFound(facts, filter, likeness))
          .toSorted(newestFirst).slice(0, filter.limit).map(({ runId, startedAt }) => ({ runId, startedAt }))
      }),
    outcomes: ({ agents, limit, runId }) =>
      Effect.sync(() =>
        [...index.runs.values()].filter((run) =>
          (runId === undefined || run.runId === runId) && (agents?.includes(run.agent) ?? true)
        ).flatMap((run) =>
          run.calls.flatMap((call): ReadonlyArray<OpenOutcome> => {
            const check = index.check(run.runId, call)
            if (call.state === undefined || (runId === undefined && !index.isOpen(run.runId, call))) return []
            const { agent, owner } = run
            const of = { runId: run.runId, agent, ...(owner === undefined ? undefined : { owner }) }
            return [{ run: of, call, ...(check === undefined ? undefined : { check }) }]
          })
        ).toSorted((a, b) => b.call.at - a.call.at || (a.call.spanId < b.call.spanId ? 1 : -1)).slice(0, limit)
      ),
    check: (runId, check) => Effect.sync(() => void index.checks.set(checkKey(runId, check.spanId), check)),
    checked: (entry) =>
      Effect.sync(() => {
        const found = [...index.runs.values()].flatMap((run) =>
          run.calls.flatMap((call) => {
            const check = call.entry === entry ? index.check(run.runId, call) : undefined
            return check === undefined ? [] : [check]
          })
        )
        const own = index.checks.get(checkKey(ledgerRun, entry))
        return [...found, ...(own === undefined ? [] : [own])].toSorted((a, b) => b.at - a.at)[0]
      }),
    overview: (query) => Effect.sync(() => index.overview(query))
  }
}

/**
 * Tally: the usage and executions of a part of a journaled run, so that a run that replays its outcome counts the same.
 */
import type { LedgerState } from "./account.ts"
import { difference, type Used } from "./used.ts"
import type { ExecutedCall, RunUsage } from "./runEntries.ts"
import type { Run } from "./run.ts"
import { addExecuted, hideTool, use } from "./state/runState.ts"

/** Usage of a section of a run. */
export const usedBy = (section: Run): Used => {
  const { account, counts: { tally }, reading: { hidden }, writes: { completed } } = section
  const { executed, usage } = tally!
  const done = completed?.ofSection(section) ?? []
  const revoked = completed?.rejectedIn(section) ?? []
  return {
    usage: { ...usage },
    budget: account.state(),
    executed: executed.map((call) => ({ ...call })),
    ...(done.length === 0 ? undefined : { done }),
    ...(revoked.length === 0 ? undefined : { revoked }),
    hidden: Object.fromEntries(hidden)
  }
}

/** Records the usage of a run; returns the usage since. For work without parallel parts of the run. */
export const usedSince = (run: Run): () => Used => {
  const usage = { ...run.counts.usage }
  const budget: LedgerState = run.account.state()
  return () => {
    const { extended, retries, used } = run.account.state()
    return {
      usage: difference(usage, run.counts.usage as unknown as Record<string, number>),
      budget: {
        used: difference(budget.used, used),
        retries: difference(budget.retries, retries),
        extended: difference(budget.extended, extended)
      },
      executed: [],
      hidden: Object.fromEntries(run.reading.hidden)
    }
  }
}

/** Counts the usage of an earlier execution, which the budget admitted then. */
export const countReplayed = (run: Run, { budget, done = [], executed, hidden, revoked, usage }: Used): void => {
  for (const [kind, amount] of Object.entries(usage)) use(run, kind as keyof RunUsage, amount)
  run.account.countReplayed(budget)
  for (const call of executed) addExecuted(run, call as unknown as ExecutedCall)
  for (const write of done) run.writes.completed?.add(run, write, undefined)
  if (revoked !== undefined) run.writes.completed?.reject(run, revoked)
  for (const [tool, until] of Object.entries(hidden)) hideTool(run, tool, until)
}

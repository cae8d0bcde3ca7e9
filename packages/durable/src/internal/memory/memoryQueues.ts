/** Queues of agents in memory: which of the runs that are due may be claimed. */
import { permittedStarts } from "../store/permittedStarts.ts"
import type { Claimable, StoredRun } from "../store/store.ts"

/** Runs of queues, by the store's data. */
export class MemoryQueues {
  private readonly busyUntil = new Map<string, number>()

  /** Returns the due runs of an agent that may continue: continuing ones come first, and only starts are counted. */
  permitted<A extends { readonly run: StoredRun; readonly lent: number }>(
    { agent, queue }: Claimable,
    due: ReadonlyArray<A>,
    running: number,
    now: number,
    limit: number
  ): ReadonlyArray<A> {
    if (queue === undefined) return due.slice(0, limit)
    const { concurrency = Infinity, rate } = queue
    // A cancelled run only ends: no queue delays it. A run with a slot keeps it.
    const isOver = ({ lent, run }: A) => (run.status === "running" && lent === 0) || run.isCancelled
    const over = due.filter(isOver).slice(0, limit)
    const queued = due.filter((one) => !isOver(one))
    const free = Math.max(0, Math.min(concurrency - running, limit - over.length))
    const again = queued.filter(({ run }) => run.epoch > 0).slice(0, free)
    const first = queued.filter(({ run }) => run.epoch === 0)
    if (rate === undefined) return [...over, ...again, ...first.slice(0, free - again.length)]
    const { busyAfter, count } = permittedStarts(rate, this.busyUntil.get(agent) ?? 0, now)
    const newRuns = first.slice(0, Math.min(free - again.length, count))
    if (newRuns.length > 0) this.busyUntil.set(agent, busyAfter(newRuns.length))
    return [...over, ...again, ...newRuns]
  }
}

/** Runs: the list, page by page, with its newest page reloaded every few seconds. */
import { useMemo } from "react"
import type { RunInfo } from "@recourse/core/Runs"
import type { RunSummary } from "@recourse/server/RunIndex"
import { get } from "../shared/api.ts"
import { Polled, useStore } from "./store.ts"

/** Filter of the runs, in texts of the page's address. Times are local, lengths are seconds. */
export const filterKeys = [
  "text",
  "status",
  "agent",
  "owner",
  "run",
  "tool",
  "code",
  "seconds",
  "cost",
  "since",
  "until",
  "like"
] as const

export type Filter = Readonly<Record<typeof filterKeys[number], string>>

export const noFilter = Object.fromEntries(filterKeys.map((key) => [key, ""])) as Filter

/** The filter in the values of a view. */
export const filterOf = (told: Readonly<Record<string, string>>): Filter => {
  const known = filterKeys.flatMap((key) => told[key] === undefined ? [] : [[key, told[key]] as const])
  return { ...noFilter, ...Object.fromEntries(known) }
}

/** A run with its entry in the index of runs. */
export type ListedRun = RunInfo & { readonly summary?: RunSummary }

interface Page {
  readonly runs: ReadonlyArray<ListedRun>
  readonly next?: string
}

const pageSize = 200
const morePageSize = 500
const refreshAfter = 2000

/** States of runs that are not their status. */
export const states = ["unknown", "undone", "retried", "fixed"]

const millisOf = (time: string): string => {
  const millis = new Date(time).getTime()
  return Number.isFinite(millis) ? String(millis) : ""
}

const numberOf = (text: string, factor = 1): string =>
  text === "" || !Number.isFinite(Number(text)) ? "" : String(Number(text) * factor)

/** The request of a filter. */
export const pathOf = (filter: Filter): string => {
  const { cost, seconds, since, status, until, ...same } = filter
  const asked = {
    ...same,
    [states.includes(status) ? "state" : "status"]: status,
    minWorked: numberOf(seconds, 1000),
    minCost: numberOf(cost),
    from: millisOf(since),
    to: millisOf(until)
  }
  const search = new URLSearchParams({ limit: String(pageSize) })
  for (const [key, value] of Object.entries(asked)) if (value.trim() !== "") search.set(key, value.trim())
  return `operator/runs?${search}`
}

/** The newest page before the others: its runs are newer than theirs. */
const merged = (newest: ReadonlyArray<ListedRun>, known: ReadonlyArray<ListedRun>): ReadonlyArray<ListedRun> => {
  const oldest = newest.at(-1)
  if (oldest === undefined) return []
  const fresh = new Set(newest.map(({ runId }) => runId))
  const older = known.filter((run) => !fresh.has(run.runId) && run.startedAt <= oldest.startedAt)
  return [...newest, ...older]
}

/** The runs that fit a filter. */
export class RunsStore extends Polled {
  runs: ReadonlyArray<ListedRun> = []
  isLoaded = false
  private next: string | undefined
  private isLoadingMore = false
  private readonly path: string

  constructor(path: string) {
    super(refreshAfter)
    this.path = path
  }

  get hasMore(): boolean {
    return this.next !== undefined
  }

  /** Loads the next page. */
  readonly more = (): void => {
    if (this.next === undefined || this.isLoadingMore) return
    this.isLoadingMore = true
    const cursor = encodeURIComponent(this.next)
    get<Page>(`${this.path.replace(`limit=${pageSize}`, `limit=${morePageSize}`)}&cursor=${cursor}`).then((page) => {
      const known = new Set(this.runs.map(({ runId }) => runId))
      this.runs = [...this.runs, ...page.runs.filter(({ runId }) => !known.has(runId))]
      this.next = page.next
    }, (error: Error) => {
      this.problem = error.message
    }).finally(() => {
      this.isLoadingMore = false
      this.changed()
    })
  }

  protected async load(signal: AbortSignal): Promise<void> {
    const page = await get<Page>(this.path, signal)
    if (!this.isLoaded || page.next === undefined) {
      this.runs = page.runs
      this.next = page.next
    } else this.runs = merged(page.runs, this.runs)
    this.isLoaded = true
  }
}

export const useRuns = (filter: Filter): RunsStore => {
  const path = pathOf(filter)
  return useStore(useMemo(() => new RunsStore(path), [path]))
}

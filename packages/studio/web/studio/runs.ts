/** Runs: the list, page by page, and its newest page anew every few seconds. */
import { useMemo } from "react"
import type { RunInfo } from "@recourse/core/Runs"
import { get } from "../shared/api.ts"
import { Polled, useStore } from "./store.ts"

export interface Filter {
  readonly status: string
  readonly agent: string
  readonly owner: string
  readonly run: string
}

export const noFilter: Filter = { status: "", agent: "", owner: "", run: "" }

interface Page {
  readonly runs: ReadonlyArray<RunInfo>
  readonly next?: string
}

const pageSize = 200
const morePageSize = 500
const refreshAfter = 2000

const pathOf = (filter: Filter): string => {
  const search = new URLSearchParams({ limit: String(pageSize) })
  for (const [key, value] of Object.entries(filter)) if (value.trim() !== "") search.set(key, value.trim())
  return `operator/runs?${search}`
}

/** The newest page in front of the others: what it holds is newer than what they do. */
const merged = (newest: ReadonlyArray<RunInfo>, known: ReadonlyArray<RunInfo>): ReadonlyArray<RunInfo> => {
  const oldest = newest.at(-1)
  if (oldest === undefined) return []
  const fresh = new Set(newest.map(({ runId }) => runId))
  const older = known.filter((run) => !fresh.has(run.runId) && run.startedAt <= oldest.startedAt)
  return [...newest, ...older]
}

/** The runs that fit a filter. */
export class RunsStore extends Polled {
  runs: ReadonlyArray<RunInfo> = []
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

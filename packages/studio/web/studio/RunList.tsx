/** The list of runs: only the rows that are seen are in the document. */
import { useVirtualizer } from "@tanstack/react-virtual"
import { useEffect, useRef } from "react"
import { Badges } from "./Badges.tsx"
import { cost, duration, moment } from "./format.ts"
import { hrefOf, type Told } from "./route.ts"
import type { ListedRun, RunsStore } from "./runs.ts"
import { visible } from "../shared/exact.ts"
import { Status } from "./Status.tsx"

const rowHeight = 80

interface Props {
  readonly list: RunsStore
  readonly selected: string | undefined
  /** The address's values besides the run: the filter. */
  readonly told?: Told
}

/** Subject of a run, its end, and its usage. */
const Row = ({ run }: { readonly run: ListedRun }) => {
  const { summary } = run
  return (
    <>
      <span className="run-name">
        <strong dir="auto">{visible(summary?.input ?? "") || run.agent}</strong>
      </span>
      <span className="run-marks">
        <Status status={run.status} />
        <Badges summary={summary} pending={run.pending.length} />
      </span>
      <span className="run-facts">
        <span className="owner">{run.agent} of {run.owner ?? "no owner"}</span>
        {summary === undefined || run.status === "running" || run.status === "queued"
          ? null
          : (
            <span className="used">
              {duration(summary.worked)}
              {summary.cost === 0 ? "" : `, ${cost(summary.cost)}`}
            </span>
          )}
        <time dateTime={new Date(run.startedAt).toISOString()}>{moment(run.startedAt)}</time>
      </span>
    </>
  )
}

const nothing: Told = {}

export const RunList = ({ list, selected, told = nothing }: Props) => {
  const { hasMore, isLoaded, more, runs } = list
  const scroller = useRef<HTMLDivElement>(null)
  const rows = useVirtualizer({
    count: runs.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 8,
    getItemKey: (index) => runs[index]?.runId ?? index
  })
  const shown = rows.getVirtualItems()
  const last = shown.at(-1)?.index ?? 0
  useEffect(() => {
    if (hasMore && last >= runs.length - 40) more()
  }, [hasMore, last, more, runs.length])
  if (isLoaded && runs.length === 0) return <p className="empty">No run fits.</p>
  return (
    <div ref={scroller} className="run-list" data-count={runs.length}>
      <ul style={{ height: rows.getTotalSize() }} aria-label="Runs">
        {shown.map(({ index, start }) => {
          const run = runs[index]!
          const isSelected = run.runId === selected
          return (
            <li
              key={run.runId}
              aria-setsize={hasMore ? -1 : runs.length}
              aria-posinset={index + 1}
              style={{ transform: `translateY(${start}px)` }}
            >
              <a href={hrefOf({ page: "runs", runId: run.runId }, told)} aria-current={isSelected ? "true" : undefined}>
                <Row run={run} />
              </a>
            </li>
          )
        })}
      </ul>
    </div>
  )
}

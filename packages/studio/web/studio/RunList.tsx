/** The list of runs: only the rows that are seen are in the document. */
import { useVirtualizer } from "@tanstack/react-virtual"
import { useEffect, useRef } from "react"
import { moment } from "./format.ts"
import { hrefOf } from "./route.ts"
import type { RunsStore } from "./runs.ts"
import { Status } from "./Status.tsx"

const rowHeight = 58

export const RunList = ({ list, selected }: { readonly list: RunsStore; readonly selected: string | undefined }) => {
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
              <a href={hrefOf({ page: "runs", runId: run.runId })} aria-current={isSelected ? "true" : undefined}>
                <span className="run-name">
                  <strong>{run.agent}</strong>
                  <Status status={run.status} />
                </span>
                <span className="run-facts">
                  <span className="owner">{run.owner ?? "no owner"}</span>
                  <time dateTime={new Date(run.startedAt).toISOString()}>{moment(run.startedAt)}</time>
                </span>
              </a>
            </li>
          )
        })}
      </ul>
    </div>
  )
}

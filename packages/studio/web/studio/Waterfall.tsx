/** Waterfall: the steps of a run on its time. Only the rows that are seen are in the document. */
import { useVirtualizer } from "@tanstack/react-virtual"
import { type KeyboardEvent, useEffect, useRef } from "react"
import type { Span } from "@recourse/server/RunTimeline"
import { duration } from "./format.ts"
import { SpanName } from "./SpanName.tsx"

const rowHeight = 28

interface Props {
  readonly spans: ReadonlyArray<Span>
  /** Until when the run goes, for spans that have not ended. */
  readonly now: number
  readonly selected: string | undefined
  readonly onSelect: (id: string) => void
}

const marks: ReadonlyArray<number> = [0, 0.25, 0.5, 0.75, 1]

export const Waterfall = ({ now, onSelect, selected, spans }: Props) => {
  const scroller = useRef<HTMLDivElement>(null)
  const rows = useVirtualizer({
    count: spans.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 12
  })
  const from = spans[0]?.startedAt ?? 0
  const length = Math.max(1, now - from)
  const at = selected === undefined ? -1 : spans.findIndex(({ id }) => id === selected)
  const { scrollToIndex } = rows
  useEffect(() => {
    if (at >= 0) scrollToIndex(at)
  }, [at, scrollToIndex])
  const move = (to: number): void => {
    const span = spans[Math.min(Math.max(0, to), spans.length - 1)]
    if (span !== undefined) onSelect(span.id)
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    const steps: Readonly<Record<string, number>> = {
      ArrowDown: at + 1,
      ArrowUp: at - 1,
      PageDown: at + 15,
      PageUp: at - 15,
      Home: 0,
      End: spans.length - 1
    }
    const to = steps[event.key]
    if (to === undefined) return
    event.preventDefault()
    move(to)
  }
  const percent = (millis: number): string => `${Math.min(100, Math.max(0, (millis / length) * 100))}%`
  return (
    <div className="waterfall">
      <div className="axis" aria-hidden="true">
        <span />
        <span className="marks">
          {marks.map((mark) => <span key={mark} style={{ left: `${mark * 100}%` }}>{duration(length * mark)}</span>)}
        </span>
        <span />
      </div>
      <div
        ref={scroller}
        className="rows"
        role="listbox"
        aria-label="Steps of the run"
        aria-activedescendant={at < 0 ? undefined : `span-${at}`}
        tabIndex={0}
        data-count={spans.length}
        onKeyDown={onKeyDown}
        onClick={(event) => {
          const row = event.target instanceof Element ? event.target.closest("[data-index]") : null
          if (row !== null) move(Number(row.getAttribute("data-index")))
        }}
      >
        <div className="canvas" style={{ height: rows.getTotalSize() }} role="presentation">
          {rows.getVirtualItems().map(({ index, start }) => {
            const span = spans[index]!
            const end = span.endedAt ?? now
            return (
              <div
                key={span.id}
                id={`span-${index}`}
                data-index={index}
                role="option"
                tabIndex={-1}
                aria-selected={span.id === selected}
                aria-setsize={spans.length}
                aria-posinset={index + 1}
                className={`row ${span.kind} ${span.state}`}
                style={{ transform: `translateY(${start}px)` }}
              >
                <span className="name" style={{ paddingLeft: Math.min(span.depth, 12) * 14 }}>
                  <SpanName span={span} />
                  <span className="visually-hidden">{" "}{span.state}{" "}</span>
                  {span.note === undefined ? null : <span className="note">{span.note}</span>}
                  {" "}
                </span>
                <span className="track">
                  <span
                    className="bar"
                    style={{ left: percent(span.startedAt - from), width: percent(end - span.startedAt) }}
                  />
                </span>
                <span className="time">{duration(end - span.startedAt)}</span>
              </div>
            )
          })}
        </div>
      </div>
    </div>
  )
}

/** Events of a run as they are. Only the rows that are seen are in the document. */
import { useVirtualizer } from "@tanstack/react-virtual"
import { useRef, useState } from "react"
import type { Event } from "@recourse/server/RunTimeline"
import { duration } from "./format.ts"
import { Text } from "./Text.tsx"

const rowHeight = 26

const common = new Set(["_tag", "runId", "agentRunId", "parent", "path", "sequence", "at"])

/** Own fields of an event, in one line. */
const brief = (event: Event): string => {
  const own = Object.entries(event).filter(([key]) => !common.has(key))
  return own.map(([key, value]) => `${key}=${(JSON.stringify(value) ?? "").slice(0, 120)}`).join("  ").slice(0, 240)
}

export const Events = ({ events, from }: { readonly events: ReadonlyArray<Event>; readonly from: number }) => {
  const scroller = useRef<HTMLDivElement>(null)
  const [chosen, setChosen] = useState<number>()
  const rows = useVirtualizer({
    count: events.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 12
  })
  const event = chosen === undefined ? undefined : events[chosen]
  return (
    <div className="events">
      <div ref={scroller} className="rows" data-count={events.length}>
        <ol style={{ height: rows.getTotalSize() }} aria-label="Events">
          {rows.getVirtualItems().map(({ index, start }) => {
            const event = events[index]!
            return (
              <li
                key={index}
                aria-setsize={events.length}
                aria-posinset={index + 1}
                style={{ transform: `translateY(${start}px)` }}
              >
                <button type="button" aria-pressed={index === chosen} onClick={() => setChosen(index)}>
                  <span className="number">{index + 1}</span>
                  <span className="when">{duration(event.at - from)}</span>
                  <span className="tag">{event._tag}</span>
                  <span className="who">{event.path.join(" › ")}</span>
                  <span className="brief">{brief(event)}</span>
                </button>
              </li>
            )
          })}
        </ol>
      </div>
      {event === undefined ? null : <Text label={`Event ${chosen! + 1}`} value={event} />}
    </div>
  )
}

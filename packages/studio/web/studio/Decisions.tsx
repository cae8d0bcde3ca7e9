/** Decisions of a run, and why each was taken. */
import type { Decision } from "@recourse/server/RunTimeline"
import { duration } from "./format.ts"

interface Props {
  readonly decisions: ReadonlyArray<Decision>
  readonly from: number
  readonly onSelect: (spanId: string) => void
}

export const Decisions = ({ decisions, from, onSelect }: Props) =>
  decisions.length === 0
    ? <p className="empty">Nothing had to be decided.</p>
    : (
      <ol className="decisions">
        {decisions.map(({ at, kind, number, spanId, text }) => (
          <li key={number}>
            <span className="when">{duration(at - from)}</span>
            <span className={`chip ${kind}`}>{kind}</span>
            <span className="why" dir="auto">{text}</span>
            {spanId === undefined
              ? null
              : <button type="button" className="link" onClick={() => onSelect(spanId)}>Show step</button>}
          </li>
        ))}
      </ol>
    )

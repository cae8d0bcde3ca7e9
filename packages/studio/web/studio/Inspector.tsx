/** Inspector: everything that is known of one step. */
import type { RunTimeline, Span } from "@recourse/server/RunTimeline"
import { IconButton } from "../shared/Button.tsx"
import { FailureCard } from "./Failures.tsx"
import { duration } from "./format.ts"
import { SpanName } from "./SpanName.tsx"
import { RequestText } from "./Requests.tsx"
import { Status } from "./Status.tsx"
import { Text } from "./Text.tsx"

interface Props {
  readonly span: Span
  readonly timeline: RunTimeline
  readonly now: number
  readonly onClose: () => void
}

/** The steps around a step, the outermost first. */
const around = (span: Span, spans: ReadonlyArray<Span>): ReadonlyArray<Span> => {
  const byId = new Map(spans.map((span) => [span.id, span]))
  const path: Array<Span> = []
  for (let at = byId.get(span.parent ?? ""); at !== undefined; at = byId.get(at.parent ?? "")) path.unshift(at)
  return path
}

export const Inspector = ({ now, onClose, span, timeline }: Props) => {
  const from = timeline.spans[0]?.startedAt ?? 0
  const path = around(span, timeline.spans)
  const agent = [...path, span].findLast(({ kind }) => kind === "agent")
  const within = (spanId: string | undefined): boolean => spanId === span.id
  const decisions = timeline.decisions.filter(({ spanId }) => within(spanId))
  const failures = timeline.failures.filter(({ spanId }) =>
    within(spanId) || timeline.spans.some(({ id, parent }) => id === spanId && parent === span.id)
  )
  const next = timeline.requests.find(({ agentRunId, number }) =>
    agentRunId === agent?.id && (span.kind === "turn" ? number >= span.first : number > span.last)
  )
  return (
    <aside className="inspector" aria-label="Step">
      <header>
        <p className="path">{path.map(({ name }) => name).join(" › ")}</p>
        <h3>
          <SpanName span={span} />
        </h3>
        <p className="facts">
          <Status status={span.state} />
          <span>{duration((span.endedAt ?? now) - span.startedAt)}</span>
          <span>after {duration(span.startedAt - from)}</span>
          {span.note === undefined ? null : <span>{span.note}</span>}
        </p>
        <IconButton variant="quiet" size="small" icon="close" label="Close the step" onClick={onClose} />
      </header>
      {decisions.length === 0 ? null : (
        <section aria-label="Why">
          <h4>Why</h4>
          <ul className="whys">{decisions.map(({ number, text }) => <li key={number} dir="auto">{text}</li>)}</ul>
        </section>
      )}
      {failures.map((failure) => <FailureCard key={failure.number} failure={failure} from={from} heading="h4" />)}
      {span.arguments === undefined ? null : <Text label="Arguments" value={span.arguments} />}
      {span.input === undefined ? null : <Text label="Input" value={span.input} />}
      {span.output === undefined || span.output === "" ?
        null :
        (
          <Text
            label={span.kind === "turn" ? "Answer" : span.kind === "call" ? "Result in the model's view" : "Output"}
            value={span.output}
          />
        )}
      {next === undefined ? null : (
        <section aria-label="Model request">
          <h4>{span.kind === "turn" ? "The request of this turn" : "The next model request"}</h4>
          <RequestText key={next.number} request={next} timeline={timeline} />
        </section>
      )}
    </aside>
  )
}

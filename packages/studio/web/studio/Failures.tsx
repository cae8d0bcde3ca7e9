/** Failures: the texts of each for the model, the user and the operator, side by side. */
import type { Failure } from "@recourse/server/RunTimeline"
import { duration } from "./format.ts"

const audiences = [
  ["model", "The model reads", "The model was not informed: the runtime continued by itself."],
  ["user", "The user reads", "The user was not informed."],
  ["operator", "The operator reads", "No further details."]
] as const

interface Props {
  readonly failure: Failure
  readonly from: number
  /** The heading that it has on its page. */
  readonly heading: "h3" | "h4"
}

export const FailureCard = ({ failure, from, heading: Heading }: Props) => (
  <article
    className={`failure-card ${
      failure.isRecovered ? "recovered" : failure.code === "outcome_unknown" ? "unknown" : "final"
    }`}
  >
    <header>
      <Heading>{failure.subject}</Heading>
      <code>{failure.code ?? failure.error ?? "failure"}</code>
      {failure.code !== undefined && failure.error !== undefined ? <code>{failure.error}</code> : null}
      <span className={`chip ${failure.isRecovered ? "good" : failure.code === "outcome_unknown" ? "warn" : "bad"}`}>
        {failure.endedRun ? "ended the run" : failure.isRecovered ? "continued silently" : "told"}
      </span>
      <span className="when">after {duration(failure.at - from)}</span>
    </header>
    <div className="audiences">
      {audiences.map(([audience, title, none]) => (
        <div key={audience} className={`audience ${audience}`} role="group" aria-label={title}>
          <p className="audience-name">{title}</p>
          {failure[audience] === undefined
            ? (
              <p className="none">
                {audience === "model" && failure.endedRun ? "The run ended: no model reads of it." : none}
              </p>
            )
            : <p tabIndex={0} dir="auto">{failure[audience]}</p>}
        </div>
      ))}
    </div>
  </article>
)

export const Failures = (
  { failures, from }: { readonly failures: ReadonlyArray<Failure>; readonly from: number }
) =>
  failures.length === 0
    ? <p className="empty">Nothing has failed.</p>
    : (
      <div className="failures">
        {failures.map((failure) => <FailureCard key={failure.number} failure={failure} from={from} heading="h3" />)}
      </div>
    )

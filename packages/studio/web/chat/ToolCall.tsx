/** A call in one line that opens: arguments, result, how it recovered, and the agents within it. */
import type { NestedAgent } from "@recourse/server/UiMessageChunk"
import { Icon, type IconName } from "../shared/Icon.tsx"
import { JsonView } from "../shared/JsonView.tsx"
import { ArgumentList } from "./ArgumentList.tsx"
import type { ShownCall } from "./parts.ts"
import { questionIn } from "./questionForm.ts"
import { argumentsSummary, decisionSentence, decisionSummary, humanized, recoverySummary, story } from "./sentences.ts"

type Look = "running" | "done" | "failed" | "denied" | "waiting" | "unknown" | "undone" | "absent"

const states: Readonly<Record<ShownCall["part"]["state"], Look>> = {
  "input-streaming": "running",
  "input-available": "running",
  "approval-requested": "waiting",
  "approval-responded": "running",
  "output-available": "done",
  "output-error": "failed",
  "output-denied": "denied"
}

const icons: Readonly<Record<Exclude<Look, "running">, IconName>> = {
  done: "check",
  failed: "warn",
  denied: "cross",
  waiting: "hand",
  unknown: "question",
  undone: "retry",
  absent: "cross"
}

/** Compensation follows the result: its report is newer. */
const lookOf = ({ outcome, part, recovery }: ShownCall): Look => {
  const settled = recovery?.steps.findLast(({ kind, tool }) =>
    tool === undefined && (kind === "undone" || kind === "not-happened" || kind === "not-undone")
  )
  if (settled?.kind === "not-undone") return "unknown"
  if (settled !== undefined) return settled.kind === "undone" ? "undone" : "failed"
  if (part.state === "input-available" && questionIn(part.input) !== undefined) return "waiting"
  if (outcome?.checked !== undefined) return outcome.checked.answer === "happened" ? "done" : "absent"
  return outcome === undefined ? states[part.state] : "unknown"
}

const found = { happened: "it was done", not_happened: "it was not done", settled: "it was dealt with" } as const

const words: Readonly<Record<Look, string>> = {
  running: "running",
  done: "done",
  failed: "failed",
  denied: "declined",
  waiting: "waits for you",
  unknown: "not known",
  undone: "undone",
  absent: "not done"
}

const when = new Intl.DateTimeFormat("en", { hour: "numeric", minute: "2-digit", day: "numeric", month: "short" })

const isEmpty = (value: unknown): boolean =>
  value === undefined || value === null || (typeof value === "object" && Object.keys(value).length === 0)

/** The sentence for the reader. */
const failureOf = ({ part }: ShownCall): string | undefined =>
  part.state !== "output-error"
    ? undefined
    : questionIn(part.input) === undefined
    ? part.errorText
    : "It was not answered."

const Steps = ({ call }: { readonly call: ShownCall }) => {
  const lines = story(call.recovery?.steps ?? [], call.part.state === "output-available")
  if (lines.length === 0) return null
  return (
    <>
      <h3>What happened</h3>
      <ol className="steps">
        {lines.map(({ kind, sentence }, index) => <li key={index} data-kind={kind}>{sentence}</li>)}
      </ol>
    </>
  )
}

export const NestedAgentLines = ({ agent }: { readonly agent: NestedAgent }) => (
  <div className="nested">
    <p>
      <Icon name="agent" /> {humanized(agent.agent)}
      <span className="call-state">{agent.state === "success" ? "done" : agent.state}</span>
    </p>
    {agent.calls.length === 0 ? null : (
      <ul>
        {agent.calls.map(({ callId, state, tool, userMessage }) => (
          <li key={callId} data-look={state}>
            {humanized(tool)}: {state === "success"
              ? "done"
              : state === "running"
              ? "running"
              : userMessage ?? (state === "unknown" ? "not known" : "failed")}
          </li>
        ))}
      </ul>
    )}
  </div>
)

/** The story of the call covers a fixer without calls. */
const isWorthShowing = ({ calls, state }: NestedAgent): boolean => calls.length > 0 || state !== "success"

export const ToolCall = ({ call }: { readonly call: ShownCall }) => {
  const { agents, approvals, outcome, part, recovery } = call
  const checked = outcome?.checked
  const look = lookOf(call)
  const decided = approvals.at(-1)
  const summary = recoverySummary(recovery?.steps ?? [])
  const failure = failureOf(call)
  const approval = "approval" in part ? part.approval : undefined
  return (
    <details className="call" data-look={look}>
      <summary>
        <span className="call-icon">
          {look === "running" ? <span className="spinner" aria-hidden="true" /> : <Icon name={icons[look]} />}
        </span>
        <span className="call-name">{humanized(part.toolName)}</span>
        <span className="call-brief" dir="auto">
          {checked === undefined ? failure ?? argumentsSummary(part.input) : `Checked: ${found[checked.answer]}`}
        </span>
        {decided === undefined || decided.decision === "approved"
          ? null
          : <span className="call-recovered">{decisionSummary(decided)}</span>}
        {summary === undefined ? null : <span className="call-recovered">{summary}</span>}
        <span className={look === "done" ? "visually-hidden" : "call-state"}>{words[look]}</span>
        <span className="call-chevron">
          <Icon name="chevron" />
        </span>
      </summary>
      <div className="call-body">
        {look === "unknown"
          ? (
            <p className="call-unknown">
              <Icon name="question" /> Nobody knows whether this was done. It is not done again by itself: check first.
            </p>
          )
          : null}
        {checked === undefined ? null : (
          <p className="call-decision">
            Checked by {checked.by}: {found[checked.answer]}{" "}
            <time dateTime={new Date(checked.at).toISOString()}>{when.format(checked.at)}</time>
          </p>
        )}
        {approvals.map((one) => (
          <p key={`${one.at} ${one.tool}`} className="call-decision">
            {decisionSentence(one)} <time dateTime={new Date(one.at).toISOString()}>{when.format(one.at)}</time>
          </p>
        ))}
        {approvals.length === 0 && look === "denied" && approval !== undefined && "reason" in approval &&
            approval.reason !== undefined
          ? <p>Declined: {approval.reason}</p>
          : null}
        {isEmpty(part.input) ? null : (
          <>
            <h3>Arguments</h3>
            <ArgumentList value={part.input} />
          </>
        )}
        <Steps call={call} />
        {agents.filter(isWorthShowing).map((agent, index) => <NestedAgentLines key={index} agent={agent} />)}
        {part.state === "output-available" && !isEmpty(part.output)
          ? (
            <>
              <h3>Result</h3>
              {typeof part.output === "object"
                ? <ArgumentList value={part.output} />
                : <JsonView label={`Result of ${humanized(part.toolName)}`} value={part.output} />}
            </>
          )
          : null}
      </div>
    </details>
  )
}

/** Timeline: a run as text, with one line for each event and each injected fault. */
import type { AgentEvent } from "@recourse/core"
import type { Observation } from "./simulation.ts"

const said: {
  readonly [Tag in AgentEvent.AgentEvent["_tag"]]?: (
    event: Extract<AgentEvent.AgentEvent, { readonly _tag: Tag }>
  ) => string
} = {
  RunStarted: ({ resumed }) => resumed ? "run resumed" : "run started",
  ApprovalRequested: ({ callId, code, tool }) => `${tool} ${callId} waits: ${code}`,
  RunFinished: ({ error, outcome }) => `run finished: ${outcome}${error === undefined ? "" : ` (${error})`}`,
  AgentStarted: ({ path }) => `agent ${path.at(-1)} started`,
  AgentFinished: ({ error, outcome, path }) =>
    `agent ${path.at(-1)} finished: ${outcome}${error === undefined ? "" : ` (${error})`}`,
  ModelTurnStarted: ({ turn }) => `model turn ${turn}`,
  ModelTurnFinished: ({ finishReason, text, toolCalls }) =>
    `model answered: ${toolCalls} calls, ${text.length} characters, ${finishReason}`,
  ModelRetry: ({ delay, error, retry }) => `model retry ${retry} in ${delay} ms: ${error}`,
  ModelSubstituted: ({ error }) => `model substituted: ${error}`,
  ToolCallStarted: ({ callId, tool }) => `${tool} ${callId} called`,
  ToolAttempt: ({ attempt, callId, tool }) => `${tool} ${callId} attempt ${attempt}`,
  ToolAttemptFailed: ({ attempt, callId, error, reason, tool }) =>
    `${tool} ${callId} attempt ${attempt} failed: ${error}${reason === undefined ? "" : ` (${reason})`}`,
  ToolAttemptRefused: ({ callId, error, tool }) => `${tool} ${callId} not run again: ${error}`,
  ToolRetry: ({ callId, delay, retry, tool }) => `${tool} ${callId} retry ${retry} in ${delay} ms`,
  FixStarted: ({ callId, fix, fixer, tool }) => `${tool} ${callId} fix ${fix} by ${fixer}`,
  FixFinished: ({ answer, callId, fixer, tool }) => `${tool} ${callId} ${fixer} answered: ${answer}`,
  ToolFallback: ({ callId, error, tool }) => `${tool} ${callId} fallback: ${error}`,
  ToolEscalated: ({ callId, code, tool }) => `${tool} ${callId} escalated: ${code}`,
  ToolResult: ({ callId, code, isFailure, tool }) =>
    `${tool} ${callId} result: ${isFailure ? code ?? "failure" : "ok"}`,
  BudgetThreshold: ({ budget, limit, used }) => `budget: ${used} of ${limit} ${budget}`
}

const describe = (event: AgentEvent.AgentEvent): string =>
  (said[event._tag] as ((event: AgentEvent.AgentEvent) => string) | undefined)?.(event) ??
    ("callId" in event ? `${event.tool} ${event.callId} ${event._tag}` : event._tag)

/** Events that say no more than their neighbours. */
const unsaid: ReadonlySet<AgentEvent.AgentEvent["_tag"]> = new Set([
  "TextDelta",
  "TextFinished",
  "ReasoningDelta",
  "ReasoningFinished",
  "ToolCallDelta",
  "ToolAttemptSucceeded",
  "ModelTurnFailed"
])

/** The timeline of a run; times are virtual milliseconds from its start. */
export const render = ({ events, injected }: Pick<Observation, "events" | "injected">): string => {
  const start = events[0]?.at ?? 0
  const at = (time: number) => `${String(time - start).padStart(8)} ms`
  const left = [...injected]
  const lines: Array<string> = []
  const attempts = new Set<string>()
  const faults = (isDue: (fault: Observation["injected"][number]) => boolean) => {
    for (let index = left.findIndex(isDue); index >= 0; index = left.findIndex(isDue)) {
      const { applied, at: time, n, tool, type } = left.splice(index, 1)[0]!
      lines.push(`${at(time)} ! ${tool ?? "model"} ${n}: ${type}${applied ? "" : " (nothing to spoil)"}`)
    }
  }
  for (const event of events) {
    if (unsaid.has(event._tag)) continue
    // A fault stands before its consequences, and behind the attempt that it is a fault of.
    faults((fault) =>
      fault.at <= event.at && (fault.attempt !== undefined
        ? attempts.has(`${fault.callId} ${fault.attempt}`)
        : fault.at < event.at || (fault.tool !== undefined
          ? "callId" in event && event.callId === fault.callId
          : event._tag === "ModelTurnFinished" || event._tag === "ModelRetry" || event._tag === "RunFinished"))
    )
    if (event._tag === "ToolAttempt") attempts.add(`${event.callId} ${event.attempt}`)
    lines.push(`${at(event.at)}   ${describe(event)}`)
  }
  faults(() => true)
  return lines.join("\n")
}

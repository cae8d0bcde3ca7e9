/** Decisions: the decision in each event, with its reason. */
import { editsOf } from "../wire/decidedApproval.ts"
import type { Decision, Event } from "./types.ts"

type DecisionText = Pick<Decision, "kind" | "text">

const after = (delay: number): string =>
  delay === 0 ? "at once" : delay < 1000 ? `after ${Math.round(delay)} ms` : `after ${(delay / 1000).toFixed(1)} s`

const toDecision = (kind: Decision["kind"], text: string): DecisionText => ({ kind, text })

const decisionText = (event: Extract<Event, { readonly _tag: "ApprovalDecided" }>): string => {
  const by = `${event.tool} is ${event.decision === "responded" ? "answered" : event.decision} by ${
    event.by ?? "a person"
  }`
  const edits = editsOf(event).map(({ from, name, to }) => `${name} ${JSON.stringify(from)} → ${JSON.stringify(to)}`)
  if (edits.length > 0) return `${by}: ${edits.join(", ")}`
  return event.reason === undefined || event.reason === "" ? by : `${by}: ${event.reason}`
}

/** Returns the decision in an event, if it has one. */
export const decisionOf = (event: Event): DecisionText | undefined => {
  switch (event._tag) {
    case "ToolRetry":
      return toDecision("retry", `${event.tool} is tried again ${after(event.delay)}: ${event.error}`)
    case "ToolAttemptRefused": {
      const why = event.because === "retry_budget"
        ? "the retry budget of the process is used up"
        : "it has run, and may not run twice"
      const end = event.error === "none" ? "its answer stays" : `it ends with ${event.error}`
      return toDecision("refused", `${event.tool} is not run again: ${why}; ${end}`)
    }
    case "FixStarted":
      return toDecision("fix", `${event.fixer} is asked to repair ${event.tool}: ${event.error}`)
    case "ToolFallback":
      return toDecision("fallback", `a declared fallback answers for ${event.tool}: ${event.error}`)
    case "ToolEscalated":
      return toDecision(
        "escalation",
        `${event.tool} is left to the model (${event.code}, ${event.severity}): ${event.reason}`
      )
    case "ToolReplayed":
      return toDecision(
        "replay",
        `an earlier call with the same key answers for ${event.tool}${event.waited ? ", which was still running" : ""}`
      )
    case "ToolCircuitOpen":
      return toDecision(
        "circuit",
        `${event.tool} is not run: circuit ${event.circuit} is open, ${after(event.retryAfter)} again`
      )
    case "ApprovalRequested":
      return toDecision(
        "question",
        `${event.tool} waits for a person${event.reasons.length === 0 ? "" : `: ${event.reasons.join("; ")}`}`
      )
    case "ApprovalDecided":
      return toDecision("approval", decisionText(event))
    case "ToolResult":
      if (event.deniedBy === "person") return undefined
      return event.deniedBy === undefined
        ? undefined
        : toDecision("denied", `${event.tool} is denied by a ${event.deniedBy}`)
    case "ModelRetry":
      return toDecision("model", `the model is asked again ${after(event.delay)}: ${event.error}`)
    case "TransportRetry":
      return toDecision("model", `the request to ${event.host} is sent again ${after(event.delay)}: ${event.error}`)
    case "ModelFallback":
      return toDecision("model", `model ${event.model} of the fallbacks is asked`)
    case "ModelSubstituted":
      return toDecision("model", `a declared answer takes the model's place: ${event.error}`)
    case "AnswerRestarted":
      return toDecision("model", "the answer was cut off and begins again")
    case "OutputCorrection":
      return toDecision("model", `the answer does not fit and is asked for once more: ${event.issues.join("; ")}`)
    case "HistoryMended":
      return toDecision(
        "history",
        `the conversation is mended: ${event.mended.map(({ problem }) => problem).join(", ")}`
      )
    case "MessageJoined":
      return toDecision("history", `a message of the user joins: ${event.text}`)
    case "ContextCompacted":
      return toDecision(
        "history",
        `the conversation is made shorter, ${event.tokensBefore} to ${event.tokens} tokens: ${event.because}`
      )
    case "BudgetThreshold":
      return toDecision("budget", `${event.used} of ${event.limit} ${event.budget} of ${event.agent} are used`)
    case "BudgetExtended":
      return toDecision("budget", `${event.budget} of ${event.agent} may go up to ${event.limit}`)
    case "SkillChosen":
      return toDecision("skill", `skill ${event.skill} is chosen`)
    default:
      return undefined
  }
}

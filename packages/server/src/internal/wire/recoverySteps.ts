/** Recovery steps: events of a call until its result, in a page's form. */
import type { AgentEvent } from "@recourse/core/AgentEvent"
import type { RecoveryStep } from "../../UiMessageChunk.ts"

/** The step that an event is, if it is one. */
export const stepOf = (event: AgentEvent): RecoveryStep | undefined => {
  const { at } = event
  switch (event._tag) {
    case "ToolAttempt":
      return { kind: "attempt", at, attempt: event.attempt, delay: event.delay }
    case "ToolAttemptFailed":
      return { kind: "failed", at, attempt: event.attempt, error: event.error }
    case "ToolAttemptRefused":
      return { kind: "refused", at, error: event.error }
    case "ToolRetry":
      return { kind: "retry", at, delay: event.delay, error: event.error }
    case "ToolReplayed":
      return { kind: "replayed", at }
    case "ToolCircuitOpen":
      return { kind: "circuit-open", at, delay: event.retryAfter }
    case "ToolCompensated":
      return event.outcome === "not_undone"
        ? { kind: "not-undone", at, error: event.because! }
        : { kind: event.outcome === "undone" ? "undone" : "not-happened", at }
    case "ToolPending":
      return { kind: "pending", at }
    case "FixStarted":
      return { kind: "fixing", at, fixer: event.fixer, error: event.error }
    case "FixFinished":
      return { kind: "fixed", at, fixer: event.fixer, answer: event.answer }
    case "ToolFallback":
      return { kind: "fallback", at, error: event.error }
    case "ToolEscalated":
      return { kind: "escalated", at, code: event.code }
    default:
      return undefined
  }
}

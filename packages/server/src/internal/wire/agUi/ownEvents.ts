/** Events beyond AG-UI's own: custom events by name, and activities of calls. */
import type { AgentEvent } from "@recourse/core/AgentEvent"
import { decidedApproval } from "../decidedApproval.ts"
import type { Names, Untimed } from "./names.ts"

/**
 * Activities of this type say how far a call has come.
 *
 * @category constants
 * @since 0.2.0
 */
export const progressActivity = "recourse.progress"

/**
 * Activities of this type contain a call's preliminary result.
 *
 * @category constants
 * @since 0.2.0
 */
export const preliminaryActivity = "recourse.preliminary"

const custom = (name: string, value: unknown, by: ReturnType<Names["by"]>): Untimed => ({
  type: "CUSTOM",
  name: `recourse.${name}`,
  value,
  ...by
})

/** The event that an agent's event is by itself, if it is one. */
export const ownEvent = (event: AgentEvent, names: Names, shows: (tool: string) => boolean): Untimed | undefined => {
  const by = names.by(event)
  switch (event._tag) {
    case "SkillChosen":
      return custom("skill", { skill: event.skill }, by)
    case "MessageJoined":
      return custom("joined", { messageId: event.messageId, text: event.text }, by)
    case "ApprovalDecided":
      return custom("approval", decidedApproval(event, shows), by)
    case "BudgetThreshold":
    case "BudgetExtended": {
      const { agent, budget, limit } = event
      const used = event._tag === "BudgetThreshold" ? { used: event.used } : undefined
      return custom("budget", { agent, budget, limit, ...used }, by)
    }
    case "ModelRetry":
    case "TransportRetry":
      return custom("model", { kind: "retry", delay: event.delay, error: event.error }, by)
    case "ModelFallback":
      return custom("model", { kind: "fallback" }, by)
    case "ModelSubstituted":
      return custom("model", { kind: "substituted", error: event.error }, by)
    case "AnswerRestarted":
      // A text cannot be taken back: the one behind this is the answer.
      return custom("model", { kind: "restart" }, by)
    case "OutputCorrection":
      return custom("model", { kind: "correction" }, by)
    case "ModelSource": {
      const { mediaType, sourceId, title, url } = event
      return custom("source", { sourceId, title, ...(url === undefined ? { mediaType } : { url }) }, by)
    }
    case "ToolProgress":
    case "ToolPreliminaryResult":
      return soFar(event, names, shows)
    default:
      return undefined
  }
}

/** A preliminary result, in an activity that the next one of the call replaces. */
const soFar = (
  event: Extract<AgentEvent, { readonly _tag: "ToolProgress" | "ToolPreliminaryResult" }>,
  names: Names,
  shows: (tool: string) => boolean
): Untimed | undefined => {
  if (event.parentCallId !== undefined) return undefined
  const { tool } = event
  const callId = names.callId(event)
  const isProgress = event._tag === "ToolProgress"
  if (!isProgress && !shows(tool)) return undefined
  return {
    type: "ACTIVITY_SNAPSHOT",
    messageId: `${isProgress ? "progress" : "preliminary"}:${event.agentRunId}/${event.callId}`,
    activityType: isProgress ? progressActivity : preliminaryActivity,
    content: isProgress
      ? {
        callId,
        tool,
        progress: event.progress,
        ...(event.total === undefined ? undefined : { total: event.total }),
        ...(event.message === undefined || !shows(tool) ? undefined : { message: event.message })
      }
      : { callId, tool, result: event.result ?? null },
    ...names.by(event)
  }
}

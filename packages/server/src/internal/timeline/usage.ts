/** Usage: each event's addition to the usage of the run. */
import type { RunUsage } from "@recourse/core/RunUsage"
import type { Event } from "./types.ts"

/** Addition of an event. */
export const usedBy = (event: Event): Partial<RunUsage> => {
  switch (event._tag) {
    case "ModelTurnStarted":
      return { turns: 1 }
    case "ModelTurnFinished": {
      const { inputTokens, outputTokens } = event
      return { inputTokens, outputTokens, totalTokens: inputTokens + outputTokens }
    }
    case "ToolAttempt":
      return { toolCalls: 1 }
    case "ToolRetry":
      return { retries: 1 }
    case "FixStarted":
      return { fixes: 1 }
    case "TransportRetry":
      return { transportRetries: 1 }
    default:
      return {}
  }
}

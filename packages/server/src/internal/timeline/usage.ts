/** Usage: what each event of a run adds to what the run has used. */
import type { RunUsage } from "@recourse/core/RunUsage"
import type { Event } from "./types.ts"

/** What a run has used. */
export type Usage = RunUsage

/** What an event adds. */
export const usedBy = (event: Event): Partial<Usage> => {
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

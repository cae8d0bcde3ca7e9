/**
 * Parts of single events: sources, files, calls of the provider, budgets, skills, progress, and the model's troubles.
 */
import type { AgentEvent } from "@recourse/core/AgentEvent"
import * as Base64 from "effect/encoding/Base64"
import type { UiMessageChunk } from "../../../UiMessageChunk.ts"
import { couldNot } from "../texts.ts"
import { callIdOf, parsed } from "./calls.ts"

/** The chunk that an event is, if it is one. */
export const ownPart = (event: AgentEvent, shows: (tool: string) => boolean): UiMessageChunk | undefined => {
  switch (event._tag) {
    case "ModelSource":
      return event.url !== undefined
        ? { type: "source-url", sourceId: event.sourceId, url: event.url, title: event.title }
        : {
          type: "source-document",
          sourceId: event.sourceId,
          mediaType: event.mediaType ?? "application/octet-stream",
          title: event.title,
          ...(event.fileName === undefined ? undefined : { filename: event.fileName })
        }
    case "ModelFile":
      return {
        type: "file",
        mediaType: event.mediaType,
        url: `data:${event.mediaType};base64,${Base64.encode(event.data)}`
      }
    case "ProviderToolCall":
      return {
        type: "tool-input-available",
        toolCallId: callIdOf(event),
        toolName: event.tool,
        input: shows(event.tool) ? parsed(event.arguments) : {},
        dynamic: true,
        providerExecuted: true
      }
    case "ProviderToolResult": {
      const call = { toolCallId: callIdOf(event), dynamic: true, providerExecuted: true } as const
      return event.isFailure
        ? { type: "tool-output-error", ...call, errorText: couldNot(event.tool) }
        : { type: "tool-output-available", ...call, output: shows(event.tool) ? event.result ?? null : null }
    }
    case "ToolProgress": {
      const { message, progress, tool, total } = event
      return {
        type: "data-progress",
        data: {
          callId: callIdOf(event),
          tool,
          progress,
          ...(total === undefined ? undefined : { total }),
          ...(message === undefined || !shows(tool) ? undefined : { message })
        },
        transient: true
      }
    }
    case "MessageJoined":
      return { type: "data-joined", id: event.messageId, data: { text: event.text } }
    case "SkillChosen":
      return { type: "data-skill", id: event.agentRunId, data: { skill: event.skill } }
    case "BudgetThreshold":
    case "BudgetExtended": {
      const { agent, budget, limit } = event
      const used = event._tag === "BudgetThreshold" ? { used: event.used } : undefined
      return { type: "data-budget", id: `${event.agentRunId}:${budget}`, data: { agent, budget, limit, ...used } }
    }
    case "ModelRetry":
    case "TransportRetry":
      return { type: "data-model", data: { kind: "retry", error: event.error, delay: event.delay }, transient: true }
    case "ModelFallback":
      return { type: "data-model", data: { kind: "fallback" }, transient: true }
    case "ModelSubstituted":
      return { type: "data-model", data: { kind: "substituted", error: event.error }, transient: true }
    default:
      return undefined
  }
}

/**
 * Public event: an event of a run in its public form. An allow-list names the public fields; all others stay: inputs,
 * transcripts, texts for the model, hosts, entries of the ledger, arguments of fixers.
 */
import type { AgentEvent } from "@recourse/core/AgentEvent"

type Tag = AgentEvent["_tag"]

const common = ["_tag", "runId", "agentRunId", "parent", "path", "at"]
const call = [...common, "callId", "tool", "parentCallId"]
const turn = [...common, "turn"]

/** The public fields of each event. Unlisted events are not sent. */
const fields: ReadonlyMap<Tag, ReadonlyArray<string>> = new Map<Tag, ReadonlyArray<string>>([
  ["RunStarted", [...common, "resumed", "version"]],
  ["RunFinished", [...common, "outcome", "output", "error", "code", "userMessage", "retryAfter", "pending", "usage"]],
  ["AgentStarted", [...common, "resumed"]],
  ["AgentFinished", [...common, "outcome", "error", "code", "userMessage", "usage"]],
  ["SkillChosen", [...common, "skill"]],
  ["ModelTurnStarted", turn],
  ["TextDelta", [...turn, "partId", "delta"]],
  ["TextFinished", [...turn, "partId"]],
  ["ReasoningDelta", [...turn, "partId", "delta"]],
  ["ReasoningFinished", [...turn, "partId"]],
  ["ToolCallDelta", [...turn, "callId", "tool", "delta"]],
  ["ModelSource", [...turn, "sourceId", "title", "url", "mediaType", "fileName"]],
  ["ProviderToolCall", [...turn, "callId", "tool"]],
  ["ProviderToolResult", [...turn, "callId", "tool", "isFailure"]],
  ["ModelTurnFinished", [...turn, "text", "toolCalls", "finishReason", "inputTokens", "outputTokens"]],
  ["ModelTurnFailed", [...turn, "error"]],
  ["ModelRetry", [...turn, "retry", "delay", "error"]],
  ["TransportRetry", [...turn, "retry", "delay", "error"]],
  ["ModelFallback", [...common, "model"]],
  ["ModelSubstituted", [...turn, "error"]],
  ["MessageJoined", [...turn, "messageId", "text"]],
  ["OutputCorrection", common],
  ["AnswerRestarted", [...turn, "retry"]],
  ["ToolCallStarted", [...call, "arguments", "resumed"]],
  ["ToolAttempt", [...call, "attempt", "delay"]],
  ["ToolAttemptSucceeded", [...call, "attempt"]],
  ["ToolAttemptFailed", [...call, "attempt", "error", "reason"]],
  ["ToolAttemptRefused", [...call, "error", "because"]],
  ["ToolReplayed", [...call, "waited"]],
  ["ToolCircuitOpen", [...call, "circuit", "retryAfter"]],
  ["ToolProgress", [...call, "attempt", "progress", "total", "message", "untrusted"]],
  ["ToolPreliminaryResult", [...call, "attempt"]],
  ["ToolCompensated", [...call, "outcome", "because"]],
  ["ToolPending", [...call, "taskId"]],
  ["ToolRetry", [...call, "retry", "delay", "error"]],
  ["FixStarted", [...call, "fixer", "fix", "error"]],
  ["FixFinished", [...call, "fixer", "fix", "answer"]],
  ["ToolFallback", [...call, "error"]],
  ["ToolEscalated", [...call, "code", "severity"]],
  ["ApprovalRequested", [
    ...call,
    "pendingCallId",
    "code",
    "arguments",
    "argumentsHash",
    "reasons",
    "requestedAt",
    "expiresAt"
  ]],
  ["ApprovalDecided", [...call, "pendingCallId", "decision", "by", "reason", "before", "arguments"]],
  ["ToolResult", [...call, "isFailure", "code", "userMessage", "retryAfter", "deniedBy", "degraded"]],
  ["BudgetThreshold", [...common, "agent", "budget", "threshold", "used", "limit"]],
  ["BudgetExtended", [...common, "agent", "budget", "limit"]]
])

/** Inputs and texts of tools: their arguments, the pieces of these, and progress messages. */
const ofTool: ReadonlySet<string> = new Set(["arguments", "before", "delta", "message"])

/** An event as it leaves the server. */
export type PublicEvent = { readonly _tag: string } & { readonly [field: string]: unknown }

/** Returns the public form of an event. `shows`: true if it may contain arguments and results of a tool. */
export const publicEvent = (event: AgentEvent, shows: (tool: string) => boolean): PublicEvent | undefined => {
  const named = fields.get(event._tag)
  if (named === undefined) return undefined
  const left: Record<string, unknown> = {}
  for (const field of named) {
    if (ofTool.has(field) && "tool" in event && !shows(event.tool)) continue
    const value = (event as unknown as Record<string, unknown>)[field]
    if (value !== undefined) left[field] = value
  }
  if (event._tag === "ToolResult" && !event.isFailure && shows(event.tool)) left["result"] = event.result ?? null
  if (event._tag === "ToolPreliminaryResult" && shows(event.tool)) left["result"] = event.result ?? null
  return left as PublicEvent
}

/** An event without the data of compensations: results that no redactor has processed. The state of the write stays. */
export const withoutCompensable = (event: AgentEvent): AgentEvent => {
  if (event._tag !== "ToolResult" || event.write?.compensable === undefined) return event
  const { compensable: _, ...write } = event.write
  return { ...event, write }
}

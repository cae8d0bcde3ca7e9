/** Tool calls of a run: their arguments and results, without those of hidden tools. */
import type { AgentEvent } from "@recourse/core/AgentEvent"
import { couldNot } from "../texts.ts"
import type { Names, Untimed } from "./names.ts"

type Of<Tag extends AgentEvent["_tag"]> = Extract<AgentEvent, { readonly _tag: Tag }>

/** The calls of a run's agents. Each method adds AG-UI's events to `out`. */
export class ToolCalls {
  /** The events start with a resumed run: earlier events are on the page. */
  isContinued = false
  private readonly names: Names
  private readonly shows: (tool: string) => boolean
  private readonly messageOf: (event: AgentEvent) => string
  private readonly started = new Set<string>()
  /** Calls whose arguments have not ended, by the run of their agent. */
  private readonly open = new Map<string, Set<string>>()

  constructor(names: Names, shows: (tool: string) => boolean, messageOf: (event: AgentEvent) => string) {
    this.names = names
    this.shows = shows
    this.messageOf = messageOf
  }

  arguments(event: Of<"ToolCallDelta">, out: Array<Untimed>): void {
    if (!this.shows(event.tool)) return
    this.start(event, out)
    const toolCallId = this.names.callId(event)
    out.push({ type: "TOOL_CALL_ARGS", toolCallId, delta: event.delta, ...this.names.by(event) })
  }

  execution(event: Of<"ToolCallStarted">, out: Array<Untimed>): void {
    if (event.parentCallId !== undefined) return
    const toolCallId = this.names.callId(event)
    if (this.start(event, out)) {
      const delta = this.shows(event.tool) ? event.arguments : "{}"
      out.push({ type: "TOOL_CALL_ARGS", toolCallId, delta, ...this.names.by(event) })
    }
    if (this.open.get(event.agentRunId)?.delete(toolCallId) === true) {
      out.push({ type: "TOOL_CALL_END", toolCallId, ...this.names.by(event) })
    }
  }

  result(event: Of<"ToolResult">, out: Array<Untimed>): void {
    if (event.parentCallId !== undefined) return
    const { code, isFailure } = event
    const toolCallId = this.names.callId(event)
    if (this.start(event, out)) {
      this.open.get(event.agentRunId)?.delete(toolCallId)
      out.push({ type: "TOOL_CALL_END", toolCallId, ...this.names.by(event) })
    }
    out.push({
      type: "TOOL_CALL_RESULT",
      messageId: `${event.agentRunId}:${event.callId}:result`,
      toolCallId,
      role: "tool",
      content: this.contentOf(event),
      ...(isFailure ? { metadata: { isFailure, ...(code === undefined ? undefined : { code }) } } : undefined),
      ...this.names.by(event)
    })
  }

  /** Ends the unclosed calls of an agent. */
  close(event: AgentEvent, out: Array<Untimed>): void {
    const open = this.open.get(event.agentRunId)
    if (open === undefined) return
    for (const toolCallId of open) out.push({ type: "TOOL_CALL_END", toolCallId, ...this.names.by(event) })
    open.clear()
  }

  private contentOf({ isFailure, result, tool, userMessage }: Of<"ToolResult">): string {
    if (isFailure) return userMessage ?? couldNot(tool)
    if (!this.shows(tool)) return ""
    return typeof result === "string" ? result : JSON.stringify(result ?? null)
  }

  /** Starts a call, unless it has started: returns whether it starts with this event. */
  private start(event: Of<"ToolCallDelta" | "ToolCallStarted" | "ToolResult">, out: Array<Untimed>): boolean {
    const toolCallId = this.names.callId(event)
    if (this.started.has(toolCallId)) return false
    this.started.add(toolCallId)
    if (this.isContinued && (event._tag === "ToolResult" || (event._tag === "ToolCallStarted" && event.resumed))) {
      return false
    }
    const open = this.open.get(event.agentRunId) ?? new Set()
    this.open.set(event.agentRunId, open.add(toolCallId))
    out.push({
      type: "TOOL_CALL_START",
      toolCallId,
      toolCallName: event.tool,
      parentMessageId: this.messageOf(event),
      ...this.names.by(event)
    })
    return true
  }
}

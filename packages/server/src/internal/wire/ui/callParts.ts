/** Calls of a message: their arguments, preliminary results, questions and ends. */
import type { AgentEvent, Pending } from "@recourse/core/AgentEvent"
import type { UiMessageChunk } from "../../../UiMessageChunk.ts"
import { couldNot } from "../texts.ts"
import { callIdOf, parsed } from "./calls.ts"

type Of<Tag extends AgentEvent["_tag"]> = Extract<AgentEvent, { readonly _tag: Tag }>

/** A page's view and its decisions. */
export interface CallOptions {
  readonly approvalId: (callId: string) => string
  readonly shows: (tool: string) => boolean
}

export class CallParts {
  private readonly options: CallOptions
  /** Calls whose arguments are being written. */
  private readonly writing = new Map<string, string>()
  /** Parts of calls that the message has, by call id. */
  private readonly shown = new Map<string, "running" | "asked" | "answered" | "done">()
  /** Ids of the questions about calls. */
  private readonly questions = new Map<string, string>()
  /** The events start with a resumed run: earlier events are on the page. */
  private isContinued = false
  /** Arguments of calls in the page's form. */
  private readonly inputs = new Map<string, unknown>()
  /** Calls with shown preliminary results, and their tools. */
  private readonly soFar = new Map<string, string>()

  /** Calls whose arguments a person has changed, until they are resumed. */
  private readonly edited = new Set<string>()

  constructor(options: CallOptions) {
    this.options = options
  }

  /** A run that resumes. The message's part of it was emitted by this mapper, or is on the page. */
  goesOn(): void {
    this.isContinued ||= this.shown.size === 0
  }

  decided(event: Of<"ApprovalDecided">): void {
    // The arguments of the call around it stay as they were.
    if (event.decision === "edited" && event.pendingCallId === callIdOf(event)) this.edited.add(event.pendingCallId)
  }

  delta(event: Of<"ToolCallDelta">, chunks: Array<UiMessageChunk>): void {
    if (!this.options.shows(event.tool)) return
    const toolCallId = callIdOf(event)
    if (!this.writing.has(toolCallId)) {
      this.writing.set(toolCallId, event.tool)
      chunks.push({ type: "tool-input-start", toolCallId, toolName: event.tool, dynamic: true })
    }
    chunks.push({ type: "tool-input-delta", toolCallId, inputTextDelta: event.delta })
  }

  started(event: Of<"ToolCallStarted">, chunks: Array<UiMessageChunk>): void {
    const callId = callIdOf(event)
    if (event.resumed && this.isContinued && !this.shown.has(callId)) {
      this.shown.set(callId, "running")
      this.inputs.set(callId, this.inputOf(event.tool, event.arguments))
    } else this.begin(callId, event.tool, event.arguments, chunks)
    if (this.edited.delete(callId)) {
      const input = this.inputs.get(callId)
      chunks.push({ type: "tool-input-available", toolCallId: callId, toolName: event.tool, input, dynamic: true })
    }
  }

  preliminary(event: Of<"ToolPreliminaryResult">, chunks: Array<UiMessageChunk>): void {
    if (!this.options.shows(event.tool)) return
    const toolCallId = callIdOf(event)
    this.soFar.set(toolCallId, event.tool)
    chunks.push({
      type: "tool-output-available",
      toolCallId,
      output: event.result ?? null,
      dynamic: true,
      preliminary: true
    })
  }

  result(event: Of<"ToolResult">, chunks: Array<UiMessageChunk>): void {
    const { tool } = event
    const callId = callIdOf(event)
    const state = this.shown.get(callId)
    if (state === undefined && !this.isContinued) this.begin(callId, tool, "{}", chunks)
    this.shown.set(callId, "done")
    const wasAsked = state === "asked" || state === "answered"
    if (event.deniedBy === "person") this.takeBack(callId, chunks)
    else this.soFar.delete(callId)
    if (event.deniedBy === "person" && (wasAsked || this.isContinued)) {
      if (wasAsked) this.answer(callId, false, chunks)
      this.shown.set(callId, "done")
      chunks.push({ type: "tool-output-denied", toolCallId: callId })
      return
    }
    if (state === "asked") {
      this.answer(callId, true, chunks)
      this.shown.set(callId, "done")
    }
    if (event.isFailure) {
      const errorText = event.userMessage ?? couldNot(tool)
      chunks.push({ type: "tool-output-error", toolCallId: callId, errorText, dynamic: true })
    } else {
      const output = this.options.shows(tool) ? event.result ?? null : null
      chunks.push({ type: "tool-output-available", toolCallId: callId, output, dynamic: true })
    }
    if (event.code === "outcome_unknown") {
      chunks.push({ type: "data-outcome", id: callId, data: { callId, tool, outcome: "unknown" } })
    }
  }

  /** One request for each call of the outermost agent that waits, or within which calls wait. */
  ask(pending: ReadonlyArray<typeof Pending.Type>, chunks: Array<UiMessageChunk>): void {
    // The page executes calls of client tools: it has their arguments, and gives their outputs.
    const asked = pending.filter(({ code }) => code !== "client_tool")
    const byCall = Map.groupBy(asked, ({ callId }) => callId.split("/", 1)[0]!)
    for (const [callId, waiting] of byCall) {
      if (this.shown.get(callId) === undefined) this.begin(callId, waiting[0]!.tool, "{}", chunks)
      this.takeBack(callId, chunks)
      this.shown.set(callId, "asked")
      const approvalId = this.options.approvalId(callId)
      this.questions.set(callId, approvalId)
      const reason = [...new Set(waiting.flatMap(({ reasons }) => reasons))].join("\n")
      chunks.push({
        type: "tool-approval-request",
        approvalId,
        toolCallId: callId,
        ...(reason === "" ? undefined : { reason }),
        approvalDescriptor: {
          calls: waiting.map(({ argumentsHash, callId, expiresAt, reasons, tool, ...call }) => ({
            callId,
            tool,
            arguments: call.arguments,
            argumentsHash,
            reasons,
            expiresAt
          }))
        }
      })
    }
  }

  /** Withdraws the questions that wait. */
  withdraw(chunks: Array<UiMessageChunk>): void {
    for (const [toolCallId, state] of this.shown) {
      if (state !== "asked") continue
      this.answer(toolCallId, false, chunks)
      this.shown.set(toolCallId, "done")
      chunks.push({ type: "tool-output-denied", toolCallId })
    }
  }

  /** Ends calls whose arguments are not complete. */
  close(chunks: Array<UiMessageChunk>): void {
    for (const [toolCallId, toolName] of this.writing) {
      const errorText = couldNot(toolName)
      chunks.push({ type: "tool-input-error", toolCallId, toolName, input: undefined, errorText, dynamic: true })
    }
    this.writing.clear()
  }

  private inputOf(tool: string, args: string): unknown {
    return this.options.shows(tool) ? parsed(args) : {}
  }

  private begin(callId: string, tool: string, args: string, chunks: Array<UiMessageChunk>): void {
    this.writing.delete(callId)
    const input = this.inputOf(tool, args)
    this.inputs.set(callId, input)
    const state = this.shown.get(callId)
    if (state === "asked") return this.answer(callId, true, chunks)
    if (state !== undefined) return
    this.shown.set(callId, "running")
    chunks.push({ type: "tool-input-available", toolCallId: callId, toolName: tool, input, dynamic: true })
  }

  /** Removes a call's preliminary result from the page: a call that waits or was denied has no output. */
  private takeBack(callId: string, chunks: Array<UiMessageChunk>): void {
    const toolName = this.soFar.get(callId)
    if (toolName === undefined) return
    this.soFar.delete(callId)
    const input = this.inputs.get(callId)
    chunks.push({ type: "tool-input-available", toolCallId: callId, toolName, input, dynamic: true })
  }

  private answer(callId: string, approved: boolean, chunks: Array<UiMessageChunk>): void {
    this.shown.set(callId, "answered")
    const approvalId = this.questions.get(callId) ?? this.options.approvalId(callId)
    chunks.push({ type: "tool-approval-response", approvalId, approved })
  }
}

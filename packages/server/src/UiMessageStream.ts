/**
 * AI SDK UI message stream: the events of a run as chunks for `useChat` and every other reader of the protocol.
 *
 * The mapping is a pure function of the events: the same events give the same chunks, live and on reload. What a chunk holds
 * is a list: the model's own messages, errors' causes, inputs and transcripts do not leave the server.
 */
import type { AgentEvent, Pending } from "@recourse/core/AgentEvent"
import * as Base64 from "effect/encoding/Base64"
import { NestedAgents } from "./internal/wire/nestedAgents.ts"
import { Recoveries } from "./internal/wire/recoveries.ts"
import { couldNot, wentWrong } from "./internal/wire/texts.ts"
import { isVisible, Visible } from "./internal/wire/visible.ts"
import type { MessageMetadata, UiMessageChunk } from "./UiMessageChunk.ts"

/** How events become chunks. */
export interface Options {
  /** The id of the message on the page. A run that is resumed goes on with the same message. */
  readonly messageId: string
  readonly threadId?: string | undefined
  /** The id under which the page decides about a call of the outermost agent. */
  readonly approvalId: (callId: string) => string
  /**
   * Whether the page may see the arguments and the results of a tool. A tool that it may not see is shown by its name and by
   * how it ended. Default: yes.
   */
  readonly shows?: ((tool: string) => boolean) | undefined
}

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** Names a call in the message: ids of calls are unique in one agent's run only. */
const callIdOf = ({ agentRunId, callId, runId }: {
  readonly agentRunId: string
  readonly callId: string
  readonly runId: string
}): string => agentRunId === runId ? callId : `${agentRunId}/${callId}`

/** Turns the events of one message, in order, into chunks. */
export class UiMessageStream {
  private readonly options: Options
  private readonly visible = new Visible()
  private readonly recoveries = new Recoveries()
  private readonly nested = new NestedAgents()
  private readonly openTexts = new Set<string>()
  private readonly openReasonings = new Set<string>()
  /** Calls whose arguments are being written. */
  private readonly writing = new Map<string, string>()
  /** Parts of calls that the message has, by call id. */
  private readonly shown = new Map<string, "running" | "asked" | "answered" | "done">()
  /** Ids of the questions about calls. */
  private readonly questions = new Map<string, string>()
  /** The events begin with a run that goes on: what was told before is on the page. */
  private isContinued = false
  /** Arguments of calls, as the page is shown them. */
  private readonly inputs = new Map<string, unknown>()
  /** Calls of which the page is shown what they have so far, and their tools. */
  private readonly soFar = new Map<string, string>()
  private stepIsOpen = false
  private textWasTold = false
  private isEnded = false
  private metadata: MessageMetadata | undefined

  constructor(options: Options) {
    this.options = options
  }

  /** The chunks of the next event. */
  next(event: AgentEvent): ReadonlyArray<UiMessageChunk> {
    this.visible.hear(event)
    const chunks: Array<UiMessageChunk> = []
    if (isVisible(this.visible, event)) this.own(event, chunks)
    if (this.visible.has(event.agentRunId)) {
      const recovered = this.recoveries.hear(event)
      if (recovered !== undefined) {
        const { callId, key, steps, tool } = recovered
        const { agentRunId, runId } = event
        const data = { callId: callIdOf({ agentRunId, callId, runId }), tool, steps }
        chunks.push({ type: "data-recovery", id: key, data })
      }
    } else {
      const agent = this.nested.hear(event)
      if (agent !== undefined) chunks.push({ type: "data-agent", id: event.agentRunId, data: agent })
    }
    return chunks
  }

  /** The chunks of a run whose events stop before their end: the process that ran it is gone. */
  cut(errorText: string): ReadonlyArray<UiMessageChunk> {
    if (this.isEnded) return []
    const chunks: Array<UiMessageChunk> = []
    this.closeParts(chunks)
    chunks.push({ type: "error", errorText })
    return chunks
  }

  /** The chunks of a run that waited for people and was stopped: its questions are withdrawn. */
  withdraw(): ReadonlyArray<UiMessageChunk> {
    const chunks: Array<UiMessageChunk> = []
    for (const [toolCallId, state] of this.shown) {
      if (state !== "asked") continue
      this.answer(toolCallId, false, chunks)
      this.shown.set(toolCallId, "done")
      chunks.push({ type: "tool-output-denied", toolCallId })
    }
    if (chunks.length > 0 && this.metadata !== undefined) {
      const messageMetadata = { ...this.metadata, outcome: "interrupted" as const }
      chunks.push({ type: "finish", finishReason: "interrupted", messageMetadata })
    }
    return chunks
  }

  private shows(tool: string): boolean {
    return this.options.shows?.(tool) ?? true
  }

  private own(event: AgentEvent, chunks: Array<UiMessageChunk>): void {
    switch (event._tag) {
      case "RunStarted":
        this.isEnded = false
        this.metadata = {
          runId: event.runId,
          ...(this.options.threadId === undefined ? undefined : { threadId: this.options.threadId }),
          ...(event.path[0] === undefined ? undefined : { agent: event.path[0] })
        }
        this.isContinued ||= event.resumed && this.shown.size === 0
        if (!event.resumed) {
          chunks.push({ type: "start", messageId: this.options.messageId, messageMetadata: this.metadata })
        }
        return
      case "RunFinished":
        return this.finish(event, chunks)
      case "ModelTurnStarted":
        this.closeParts(chunks)
        if (this.stepIsOpen) chunks.push({ type: "finish-step" })
        chunks.push({ type: "start-step" })
        this.stepIsOpen = true
        this.textWasTold = false
        return
      case "TextDelta": {
        const id = `${event.agentRunId}:${event.partId}`
        if (!this.openTexts.has(id)) {
          this.openTexts.add(id)
          chunks.push({ type: "text-start", id })
        }
        this.textWasTold = true
        chunks.push({ type: "text-delta", id, delta: event.delta })
        return
      }
      case "TextFinished": {
        const id = `${event.agentRunId}:${event.partId}`
        if (this.openTexts.delete(id)) chunks.push({ type: "text-end", id })
        return
      }
      case "ReasoningDelta": {
        const id = `${event.agentRunId}:${event.partId}`
        if (!this.openReasonings.has(id)) {
          this.openReasonings.add(id)
          chunks.push({ type: "reasoning-start", id })
        }
        chunks.push({ type: "reasoning-delta", id, delta: event.delta })
        return
      }
      case "ReasoningFinished": {
        const id = `${event.agentRunId}:${event.partId}`
        if (this.openReasonings.delete(id)) chunks.push({ type: "reasoning-end", id })
        return
      }
      case "ModelTurnFinished":
        if (event.text !== "" && !this.textWasTold) {
          this.text(`${event.agentRunId}:turn-${event.turn}`, event.text, chunks)
        }
        return
      case "ModelTurnFailed":
        this.closeParts(chunks)
        return
      case "AnswerRestarted":
      case "OutputCorrection":
        // What the step has shown is no answer: the page takes it back.
        this.closeParts(chunks)
        if (this.stepIsOpen) chunks.push({ type: "reset-step" })
        this.textWasTold = false
        chunks.push({
          type: "data-model",
          data: { kind: event._tag === "AnswerRestarted" ? "restart" : "correction" },
          transient: true
        })
        return
      case "ModelSource":
        if (event.url !== undefined) {
          chunks.push({ type: "source-url", sourceId: event.sourceId, url: event.url, title: event.title })
        } else {
          chunks.push({
            type: "source-document",
            sourceId: event.sourceId,
            mediaType: event.mediaType ?? "application/octet-stream",
            title: event.title,
            ...(event.fileName === undefined ? undefined : { filename: event.fileName })
          })
        }
        return
      case "ModelFile":
        chunks.push({
          type: "file",
          mediaType: event.mediaType,
          url: `data:${event.mediaType};base64,${Base64.encode(event.data)}`
        })
        return
      case "ProviderToolCall":
        chunks.push({
          type: "tool-input-available",
          toolCallId: callIdOf(event),
          toolName: event.tool,
          input: parse(event.arguments),
          dynamic: true,
          providerExecuted: true
        })
        return
      case "ProviderToolResult":
        chunks.push(
          event.isFailure
            ? {
              type: "tool-output-error",
              toolCallId: callIdOf(event),
              errorText: couldNot(event.tool),
              dynamic: true,
              providerExecuted: true
            }
            : {
              type: "tool-output-available",
              toolCallId: callIdOf(event),
              output: event.result ?? null,
              dynamic: true,
              providerExecuted: true
            }
        )
        return
      case "ToolCallDelta": {
        if (!this.shows(event.tool)) return
        const toolCallId = callIdOf(event)
        if (!this.writing.has(toolCallId)) {
          this.writing.set(toolCallId, event.tool)
          chunks.push({ type: "tool-input-start", toolCallId, toolName: event.tool, dynamic: true })
        }
        chunks.push({ type: "tool-input-delta", toolCallId, inputTextDelta: event.delta })
        return
      }
      case "ToolCallStarted": {
        const callId = callIdOf(event)
        if (event.resumed && this.isContinued && !this.shown.has(callId)) {
          this.shown.set(callId, "running")
          this.inputs.set(callId, this.shows(event.tool) ? parse(event.arguments) : {})
          return
        }
        return this.callStarted(callId, event.tool, event.arguments, chunks)
      }
      case "ToolPreliminaryResult":
        if (this.shows(event.tool)) {
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
        return
      case "ToolProgress": {
        const { message, progress, tool, total } = event
        const toolCallId = callIdOf(event)
        chunks.push({
          type: "data-progress",
          data: {
            callId: toolCallId,
            tool,
            progress,
            ...(total === undefined ? undefined : { total }),
            ...(message === undefined || !this.shows(tool) ? undefined : { message })
          },
          transient: true
        })
        return
      }
      case "ToolResult":
        return this.result(event, chunks)
      case "SkillChosen":
        chunks.push({ type: "data-skill", id: event.agentRunId, data: { skill: event.skill } })
        return
      case "BudgetThreshold":
      case "BudgetExtended": {
        const { agent, budget, limit } = event
        const used = event._tag === "BudgetThreshold" ? { used: event.used } : undefined
        chunks.push({
          type: "data-budget",
          id: `${event.agentRunId}:${budget}`,
          data: { agent, budget, limit, ...used }
        })
        return
      }
      case "ModelRetry":
      case "TransportRetry":
        chunks.push({
          type: "data-model",
          data: { kind: "retry", error: event.error, delay: event.delay },
          transient: true
        })
        return
      case "ModelFallback":
        chunks.push({ type: "data-model", data: { kind: "fallback" }, transient: true })
        return
      case "ModelSubstituted":
        chunks.push({ type: "data-model", data: { kind: "substituted", error: event.error }, transient: true })
        return
      default:
        return
    }
  }

  private text(id: string, text: string, chunks: Array<UiMessageChunk>): void {
    this.textWasTold = true
    chunks.push({ type: "text-start", id }, { type: "text-delta", id, delta: text }, { type: "text-end", id })
  }

  private callStarted(callId: string, tool: string, args: string, chunks: Array<UiMessageChunk>): void {
    this.writing.delete(callId)
    const input = this.shows(tool) ? parse(args) : {}
    this.inputs.set(callId, input)
    const state = this.shown.get(callId)
    if (state === "asked") {
      this.answer(callId, true, chunks)
      return
    }
    if (state !== undefined) return
    this.shown.set(callId, "running")
    chunks.push({ type: "tool-input-available", toolCallId: callId, toolName: tool, input, dynamic: true })
  }

  /** Takes back what the page is shown of a call so far: a call that waits or was denied has no output. */
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

  private result(event: Extract<AgentEvent, { _tag: "ToolResult" }>, chunks: Array<UiMessageChunk>): void {
    const { tool } = event
    const callId = callIdOf(event)
    const state = this.shown.get(callId)
    if (state === undefined && !this.isContinued) this.callStarted(callId, tool, "{}", chunks)
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
      const output = this.shows(tool) ? event.result ?? null : null
      chunks.push({ type: "tool-output-available", toolCallId: callId, output, dynamic: true })
    }
  }

  /** Ends what is open: a part that is not ended stays unfinished on the page. */
  private closeParts(chunks: Array<UiMessageChunk>): void {
    for (const id of this.openTexts) chunks.push({ type: "text-end", id })
    for (const id of this.openReasonings) chunks.push({ type: "reasoning-end", id })
    for (const [toolCallId, toolName] of this.writing) {
      chunks.push({
        type: "tool-input-error",
        toolCallId,
        toolName,
        input: undefined,
        errorText: couldNot(toolName),
        dynamic: true
      })
    }
    this.openTexts.clear()
    this.openReasonings.clear()
    this.writing.clear()
  }

  private finish(event: Extract<AgentEvent, { _tag: "RunFinished" }>, chunks: Array<UiMessageChunk>): void {
    this.isEnded = true
    this.closeParts(chunks)
    const { inputTokens, outputTokens, totalTokens } = event.usage
    const metadata: MessageMetadata = {
      ...this.metadata ?? { runId: event.runId },
      outcome: event.outcome,
      usage: { inputTokens, outputTokens, totalTokens }
    }
    if (event.outcome === "success") this.output(event, chunks)
    if (event.outcome === "paused") this.requests(event.pending ?? [], chunks)
    if (this.stepIsOpen) chunks.push({ type: "finish-step" })
    this.stepIsOpen = false
    if (event.outcome === "failure") {
      const errorText = event.userMessage ?? wentWrong
      const errorCode = event.code === undefined ? undefined : { errorCode: event.code }
      chunks.push({ type: "message-metadata", messageMetadata: { ...metadata, ...errorCode, errorText } })
      chunks.push({ type: "error", errorText })
      return
    }
    const finishReason = event.outcome === "success"
      ? "stop"
      : event.outcome === "paused"
      ? "tool-calls"
      : "interrupted"
    chunks.push({ type: "finish", finishReason, messageMetadata: metadata })
  }

  /** What the run answered, unless it is a text that the message has. */
  private output(event: Extract<AgentEvent, { _tag: "RunFinished" }>, chunks: Array<UiMessageChunk>): void {
    const { output } = event
    if (typeof output === "string") {
      if (output === "" || this.textWasTold) return
      if (!this.stepIsOpen) chunks.push({ type: "start-step" })
      this.stepIsOpen = true
      this.text(`${event.runId}:output`, output, chunks)
    } else if (output !== undefined) {
      chunks.push({ type: "data-output", id: event.runId, data: output })
    }
  }

  /** One request for each call of the outermost agent that waits, or within which calls wait. */
  private requests(pending: ReadonlyArray<typeof Pending.Type>, chunks: Array<UiMessageChunk>): void {
    const byCall = Map.groupBy(pending, ({ callId }) => callId.split("/", 1)[0]!)
    for (const [callId, waiting] of byCall) {
      if (this.shown.get(callId) === undefined) this.callStarted(callId, waiting[0]!.tool, "{}", chunks)
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
}

/** Turns the events of one message, in order, into chunks. */
export const make = (options: Options): UiMessageStream => new UiMessageStream(options)

/**
 * AI SDK UI message stream: the events of a run as chunks for `useChat` and every other reader of the protocol.
 *
 * The mapping is a pure function of the events: the same events give the same chunks, live and on reload. The content
 * of a chunk is an allow-list: the model's own messages, errors' causes, inputs and transcripts do not leave the
 * server.
 */
import type { AgentEvent } from "@recourse/core/AgentEvent"
import { decidedApproval } from "./internal/wire/decidedApproval.ts"
import { NestedAgents } from "./internal/wire/nestedAgents.ts"
import { Recoveries } from "./internal/wire/recoveries.ts"
import { wentWrong } from "./internal/wire/texts.ts"
import { CallParts } from "./internal/wire/ui/callParts.ts"
import { callIdOf } from "./internal/wire/ui/calls.ts"
import { ownPart } from "./internal/wire/ui/ownParts.ts"
import { TextParts } from "./internal/wire/ui/textParts.ts"
import { isVisible, Visible } from "./internal/wire/visible.ts"
import type { MessageMetadata, UiMessageChunk } from "./UiMessageChunk.ts"

/**
 * Options of the conversion to chunks.
 *
 * @category options
 * @since 0.2.0
 */
export interface Options {
  /** The id of the message on the page. A resumed run continues the same message. */
  readonly messageId: string
  /** The page's id of the conversation. Default: none. */
  readonly threadId?: string | undefined
  /** The id under which the page decides about a call of the outermost agent. */
  readonly approvalId: (callId: string) => string
  /**
   * True if the page may see the arguments and the results of a tool. A hidden tool is shown by its name and its
   * outcome. Default: true.
   */
  readonly shows?: ((tool: string) => boolean) | undefined
}

/**
 * Turns the events of one message, in order, into chunks.
 *
 * @category models
 * @since 0.2.0
 */
export class UiMessageStream {
  private readonly options: Options
  private readonly visible = new Visible()
  private readonly recoveries = new Recoveries()
  private readonly nested = new NestedAgents()
  private readonly texts = new TextParts()
  private readonly calls: CallParts
  private readonly shows: (tool: string) => boolean
  private stepIsOpen = false
  private isEnded = false
  private metadata: MessageMetadata | undefined

  constructor(options: Options) {
    this.options = options
    this.shows = options.shows ?? (() => true)
    this.calls = new CallParts({ approvalId: options.approvalId, shows: this.shows })
  }

  /** The chunks of the next event. */
  next(event: AgentEvent): ReadonlyArray<UiMessageChunk> {
    this.visible.receive(event)
    const chunks: Array<UiMessageChunk> = []
    if (event._tag === "ApprovalDecided") {
      this.calls.decided(event)
      chunks.push({ type: "data-approval", id: event.pendingCallId, data: decidedApproval(event, this.shows) })
    } else if (isVisible(this.visible, event)) this.own(event, chunks)
    if (this.visible.has(event.agentRunId)) {
      const recovered = this.recoveries.receive(event)
      if (recovered !== undefined) {
        const { callId, key, steps, tool } = recovered
        const { agentRunId, runId } = event
        const data = { callId: callIdOf({ agentRunId, callId, runId }), tool, steps }
        chunks.push({ type: "data-recovery", id: key, data })
      }
    } else {
      const agent = this.nested.receive(event)
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
    this.calls.withdraw(chunks)
    if (chunks.length > 0 && this.metadata !== undefined) {
      const messageMetadata = { ...this.metadata, outcome: "interrupted" as const }
      chunks.push({ type: "finish", finishReason: "interrupted", messageMetadata })
    }
    return chunks
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
        if (event.resumed) this.calls.goesOn()
        else chunks.push({ type: "start", messageId: this.options.messageId, messageMetadata: this.metadata })
        return
      case "RunFinished":
        return this.finish(event, chunks)
      case "ModelTurnStarted":
        this.closeParts(chunks)
        if (this.stepIsOpen) chunks.push({ type: "finish-step" })
        chunks.push({ type: "start-step" })
        this.stepIsOpen = true
        this.texts.wasEmitted = false
        return
      case "TextDelta":
      case "ReasoningDelta":
        return this.texts.delta(event, chunks)
      case "TextFinished":
      case "ReasoningFinished":
        return this.texts.finished(event, chunks)
      case "ModelTurnFinished":
        if (event.text !== "" && !this.texts.wasEmitted) {
          this.texts.whole(`${event.agentRunId}:turn-${event.turn}`, event.text, chunks)
        }
        return
      case "ModelTurnFailed":
        this.closeParts(chunks)
        return
      case "AnswerRestarted":
      case "OutputCorrection":
        // The step's shown parts are no answer: the page removes them.
        this.closeParts(chunks)
        if (this.stepIsOpen) chunks.push({ type: "reset-step" })
        this.texts.wasEmitted = false
        chunks.push({
          type: "data-model",
          data: { kind: event._tag === "AnswerRestarted" ? "restart" : "correction" },
          transient: true
        })
        return
      case "ToolCallDelta":
        return this.calls.delta(event, chunks)
      case "ToolCallStarted":
        return this.calls.started(event, chunks)
      case "ToolPreliminaryResult":
        return this.calls.preliminary(event, chunks)
      case "ToolResult":
        return this.calls.result(event, chunks)
      default: {
        const part = ownPart(event, this.shows)
        if (part !== undefined) chunks.push(part)
      }
    }
  }

  /** Ends open parts: a part that is not ended stays unfinished on the page. */
  private closeParts(chunks: Array<UiMessageChunk>): void {
    this.texts.close(chunks)
    this.calls.close(chunks)
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
    if (event.outcome === "paused") this.calls.ask(event.pending ?? [], chunks)
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

  /** The run's answer, unless it is a text that the message has. */
  private output(event: Extract<AgentEvent, { _tag: "RunFinished" }>, chunks: Array<UiMessageChunk>): void {
    const { output } = event
    if (typeof output === "string") {
      if (output === "" || this.texts.wasEmitted) return
      if (!this.stepIsOpen) chunks.push({ type: "start-step" })
      this.stepIsOpen = true
      this.texts.whole(`${event.runId}:output`, output, chunks)
    } else if (output !== undefined) {
      chunks.push({ type: "data-output", id: event.runId, data: output })
    }
  }
}

/**
 * Turns the events of one message, in order, into chunks.
 *
 * @category converting
 * @since 0.2.0
 */
export const make = (options: Options): UiMessageStream => new UiMessageStream(options)

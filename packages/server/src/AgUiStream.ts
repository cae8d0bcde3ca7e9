/**
 * AG-UI event stream: the events of a run as AG-UI 1.0, for `HttpAgent` and every other client of the protocol.
 *
 * The mapping is a pure function of the events. A run that pauses ends like an AG-UI run with interrupts; its
 * resumption is the next AG-UI run of the thread.
 */
/* oxlint-disable max-lines -- one mapper, with a case for each event */
import type { AgentEvent } from "@recourse/core/AgentEvent"
import { type AgUiEvent, protocolVersion } from "./AgUiEvent.ts"
import { Interrupts } from "./internal/wire/agUi/interrupts.ts"
import { Names, type Untimed } from "./internal/wire/agUi/names.ts"
import { ownEvent } from "./internal/wire/agUi/ownEvents.ts"
import { Recoveries } from "./internal/wire/recoveries.ts"
import { couldNot, wentWrong } from "./internal/wire/texts.ts"
export { preliminaryActivity, progressActivity } from "./internal/wire/agUi/ownEvents.ts"

/**
 * Options of the conversion to AG-UI's events.
 *
 * @category options
 * @since 0.2.0
 */
export interface Options {
  /** The client's id of the conversation. */
  readonly threadId: string
  /** The client's id of an AG-UI run: of the first one, and of each one after a pause. 0 is the first. */
  readonly runId: (segment: number) => string
  /** The id under which the client decides about a call that waits. */
  readonly interruptId: (callId: string) => string
  /**
   * True if the page may see the arguments and the results of a tool. A hidden tool is shown by its name and its
   * outcome. Default: true.
   */
  readonly shows?: ((tool: string) => boolean) | undefined
  /**
   * True if the client declares AG-UI 1.0, by the `protocolVersion` of its input. Others, up to 0.0.59, refuse a run
   * whose outcome is `cancelled`: for them it ends without an outcome. Default: true.
   */
  readonly speaksV1?: boolean | undefined
}

type Of<Tag extends AgentEvent["_tag"]> = Extract<AgentEvent, { readonly _tag: Tag }>

/** Unclosed parts of an agent's run: AG-UI refuses an end of the run before they are closed. */
interface Open {
  step?: string | undefined
  /** The message of the turn; its text is open while one of the parts is. */
  message: string
  readonly texts: Set<string>
  textWasTold: boolean
  readonly reasonings: Set<string>
  readonly calls: Set<string>
}

/**
 * Activities of this type hold the steps of a call.
 *
 * @category constants
 * @since 0.2.0
 */
export const recoveryActivity = "recourse.recovery"

/**
 * Turns the events of one run, in order, into AG-UI's.
 *
 * @category models
 * @since 0.2.0
 */
export class AgUiStream {
  private readonly options: Options
  private readonly recoveries = new Recoveries()
  private readonly open = new Map<string, Open>()
  private readonly calls = new Set<string>()
  private readonly names = new Names()
  private readonly interrupts: Interrupts
  private readonly shows: (tool: string) => boolean
  private activities = new Map<string, number>()
  private segment = -1
  private toldText = false
  /** The events start with a resumed run: earlier events are on the page. */
  private isContinued = false

  constructor(options: Options) {
    this.options = options
    this.interrupts = new Interrupts(this.names, options.interruptId)
    this.shows = options.shows ?? (() => true)
  }

  /** AG-UI's events for the next event. */
  next(event: AgentEvent): ReadonlyArray<AgUiEvent> {
    const told: Array<Untimed> = []
    this.tell(event, told)
    const recovered = this.recoveries.hear(event)
    if (recovered !== undefined) {
      const { callId, key, steps, tool } = recovered
      // A timeline belongs to the agent that has started it: a continuing one emits it again.
      const messageId = `recovery:${key}${this.names.again(event)}`
      const base = { ...this.names.by(event), messageId, activityType: recoveryActivity }
      const known = this.activities.get(messageId)
      // A timeline that has lost its middle is emitted again.
      if (known === undefined || known + 1 !== steps.length) {
        told.push({ type: "ACTIVITY_SNAPSHOT", ...base, content: { callId, tool, steps } })
      } else {
        told.push({ type: "ACTIVITY_DELTA", ...base, patch: [{ op: "add", path: "/steps/-", value: steps.at(-1) }] })
      }
      this.activities.set(messageId, steps.length)
    }
    return told.map((event_): AgUiEvent => ({ ...event_, timestamp: Math.trunc(event.at) }) as AgUiEvent)
  }

  /** The events of a run whose events stop before their end: the process that ran it is gone. */
  cut(message: string, at: number): ReadonlyArray<AgUiEvent> {
    return [{ type: "RUN_ERROR", message, code: "interrupted", timestamp: at }]
  }

  private of(event: { readonly agentRunId: string }): Open {
    const known = this.open.get(event.agentRunId)
    if (known !== undefined) return known
    const open: Open = {
      message: `${event.agentRunId}:turn-0`,
      texts: new Set(),
      textWasTold: false,
      reasonings: new Set(),
      calls: new Set()
    }
    this.open.set(event.agentRunId, open)
    return open
  }

  private tell(event: AgentEvent, told: Array<Untimed>): void {
    switch (event._tag) {
      case "RunStarted":
        this.segment++
        this.isContinued ||= event.resumed && this.segment === 0
        this.names.begin(event.agentRunId)
        this.activities = new Map()
        told.push({
          type: "RUN_STARTED",
          threadId: this.options.threadId,
          runId: this.options.runId(this.segment),
          protocolVersion
        })
        return
      case "RunFinished":
        return this.finish(event, told)
      case "AgentStarted":
        return this.agentStarted(event, told)
      case "AgentFinished":
        return this.agentFinished(event, told)
      case "ModelTurnStarted": {
        const open = this.of(event)
        this.close(event, told)
        open.message = `${event.agentRunId}:turn-${event.turn}`
        open.textWasTold = false
        open.step = `turn ${event.turn}`
        told.push({ type: "STEP_STARTED", stepName: open.step, ...this.names.by(event) })
        return
      }
      case "TextDelta":
        return this.text(event, told)
      case "TextFinished": {
        const open = this.of(event)
        if (open.texts.delete(event.partId) && open.texts.size === 0) {
          told.push({ type: "TEXT_MESSAGE_END", messageId: open.message, ...this.names.by(event) })
        }
        return
      }
      case "ReasoningDelta":
        return this.reasoning(event, told)
      case "ReasoningFinished": {
        const messageId = `${event.agentRunId}:${event.partId}`
        if (this.of(event).reasonings.delete(messageId)) this.endReasoning(messageId, event, told)
        return
      }
      case "ModelTurnFinished": {
        const { message, textWasTold } = this.of(event)
        if (event.text !== "" && !textWasTold) this.wholeText(message, event.text, event, told)
        return
      }
      case "ToolCallDelta": {
        if (!this.shows(event.tool)) return
        this.callOpened(event, told)
        told.push({
          type: "TOOL_CALL_ARGS",
          toolCallId: this.names.callId(event),
          delta: event.delta,
          ...this.names.by(event)
        })
        return
      }
      case "ToolCallStarted":
        return this.callStarted(event, told)
      case "ToolResult":
        return this.result(event, told)
      case "ApprovalRequested":
        this.interrupts.hear(event)
        return
      default: {
        const own = ownEvent(event, this.names, this.shows)
        if (own !== undefined) told.push(own)
      }
    }
  }

  private agentStarted(event: Of<"AgentStarted">, told: Array<Untimed>): void {
    const { agentRunId, parent } = event
    const { names } = this
    names.beginWithin(agentRunId)
    const isNested = parent !== undefined && parent.agentRunId !== names.root && names.hasStarted(parent.agentRunId)
    told.push({
      type: "SUBAGENT_STARTED",
      subagentRunId: names.within(agentRunId),
      name: event.path.at(-1) ?? "",
      ...(isNested ? { parentSubagentRunId: names.within(parent.agentRunId) } : undefined),
      ...(parent?.callId === undefined
        ? undefined
        : { parentToolCallId: this.names.callId({ agentRunId: parent.agentRunId, callId: parent.callId }) })
    })
  }

  private agentFinished(event: Of<"AgentFinished">, told: Array<Untimed>): void {
    this.close(event, told)
    const { agentRunId, outcome } = event
    const subagentRunId = this.names.within(agentRunId)
    if (outcome === "success") {
      told.push({ type: "SUBAGENT_FINISHED", subagentRunId, outcome: { type: "success" } })
    } else if (outcome === "paused") {
      const interruptIds = this.interrupts.idsOf(agentRunId)
      told.push({ type: "SUBAGENT_FINISHED", subagentRunId, outcome: { type: "suspended", interruptIds } })
    } else {
      const code = outcome === "interrupted" ? "interrupted" : event.code
      told.push({
        type: "SUBAGENT_ERROR",
        subagentRunId,
        message: event.userMessage ?? couldNot(event.path.at(-1) ?? ""),
        ...(code === undefined ? undefined : { code })
      })
    }
  }

  private text(event: Of<"TextDelta">, told: Array<Untimed>): void {
    const open = this.of(event)
    const by = this.names.by(event)
    if (open.texts.size === 0) {
      told.push({ type: "TEXT_MESSAGE_START", messageId: open.message, role: "assistant", ...by })
    }
    open.texts.add(event.partId)
    open.textWasTold = true
    if (event.agentRunId === this.names.root) this.toldText = true
    told.push({ type: "TEXT_MESSAGE_CONTENT", messageId: open.message, delta: event.delta, ...by })
  }

  private wholeText(messageId: string, text: string, event: AgentEvent, told: Array<Untimed>): void {
    const by = this.names.by(event)
    if (event.agentRunId === this.names.root) this.toldText = true
    told.push(
      { type: "TEXT_MESSAGE_START", messageId, role: "assistant", ...by },
      { type: "TEXT_MESSAGE_CONTENT", messageId, delta: text, ...by },
      { type: "TEXT_MESSAGE_END", messageId, ...by }
    )
  }

  private reasoning(event: Of<"ReasoningDelta">, told: Array<Untimed>): void {
    const { reasonings } = this.of(event)
    const messageId = `${event.agentRunId}:${event.partId}`
    const by = this.names.by(event)
    if (!reasonings.has(messageId)) {
      reasonings.add(messageId)
      told.push(
        { type: "REASONING_START", messageId, ...by },
        { type: "REASONING_MESSAGE_START", messageId, role: "reasoning", ...by }
      )
    }
    told.push({ type: "REASONING_MESSAGE_CONTENT", messageId, delta: event.delta, ...by })
  }

  private endReasoning(messageId: string, event: AgentEvent, told: Array<Untimed>): void {
    const by = this.names.by(event)
    told.push({ type: "REASONING_MESSAGE_END", messageId, ...by }, { type: "REASONING_END", messageId, ...by })
  }

  private callOpened(event: Of<"ToolCallDelta" | "ToolCallStarted" | "ToolResult">, told: Array<Untimed>): boolean {
    const toolCallId = this.names.callId(event)
    if (this.calls.has(toolCallId)) return false
    if (this.isContinued && (event._tag === "ToolResult" || (event._tag === "ToolCallStarted" && event.resumed))) {
      this.calls.add(toolCallId)
      return false
    }
    const open = this.of(event)
    this.calls.add(toolCallId)
    open.calls.add(toolCallId)
    told.push({
      type: "TOOL_CALL_START",
      toolCallId,
      toolCallName: event.tool,
      parentMessageId: open.message,
      ...this.names.by(event)
    })
    return true
  }

  private callStarted(event: Of<"ToolCallStarted">, told: Array<Untimed>): void {
    if (event.parentCallId !== undefined) return
    const toolCallId = this.names.callId(event)
    if (this.callOpened(event, told)) {
      const delta = this.shows(event.tool) ? event.arguments : "{}"
      told.push({ type: "TOOL_CALL_ARGS", toolCallId, delta, ...this.names.by(event) })
    }
    if (this.of(event).calls.delete(toolCallId)) {
      told.push({ type: "TOOL_CALL_END", toolCallId, ...this.names.by(event) })
    }
  }

  private result(event: Of<"ToolResult">, told: Array<Untimed>): void {
    if (event.parentCallId !== undefined) return
    const { code, isFailure, tool } = event
    const toolCallId = this.names.callId(event)
    if (this.callOpened(event, told)) {
      this.of(event).calls.delete(toolCallId)
      told.push({ type: "TOOL_CALL_END", toolCallId, ...this.names.by(event) })
    }
    const content = isFailure
      ? event.userMessage ?? couldNot(tool)
      : !this.shows(tool)
      ? ""
      : typeof event.result === "string"
      ? event.result
      : JSON.stringify(event.result ?? null)
    told.push({
      type: "TOOL_CALL_RESULT",
      messageId: `${event.agentRunId}:${event.callId}:result`,
      toolCallId,
      role: "tool",
      content,
      ...(isFailure ? { metadata: { isFailure, ...(code === undefined ? undefined : { code }) } } : undefined),
      ...this.names.by(event)
    })
  }

  /** Ends the unclosed parts of an agent's run. */
  private close(event: AgentEvent, told: Array<Untimed>): void {
    const open = this.of(event)
    const by = this.names.by(event)
    if (open.texts.size > 0) told.push({ type: "TEXT_MESSAGE_END", messageId: open.message, ...by })
    for (const messageId of open.reasonings) this.endReasoning(messageId, event, told)
    for (const toolCallId of open.calls) told.push({ type: "TOOL_CALL_END", toolCallId, ...by })
    if (open.step !== undefined) told.push({ type: "STEP_FINISHED", stepName: open.step, ...by })
    open.texts.clear()
    open.reasonings.clear()
    open.calls.clear()
    open.step = undefined
  }

  private finish(event: Of<"RunFinished">, told: Array<Untimed>): void {
    this.close(event, told)
    const { code, outcome, output, pending = [] } = event
    const { inputTokens, outputTokens, totalTokens } = event.usage
    const usage = [{ inputTokens, outputTokens, totalTokens }]
    if (outcome === "failure") {
      const message = event.userMessage ?? wentWrong
      told.push({ type: "RUN_ERROR", message, usage, ...(code === undefined ? undefined : { code }) })
      return
    }
    if (outcome === "success" && typeof output === "string" && output !== "" && !this.toldText) {
      this.wholeText(`${event.runId}:output`, output, event, told)
    }
    const interrupts = this.interrupts.of(pending)
    // A run that waits for its page alone has no interrupt: the next input has the results as messages.
    const isOfPage = pending.length > 0 && interrupts.length === 0
    const isResult = outcome === "success" && output !== undefined && typeof output !== "string"
    told.push({
      type: "RUN_FINISHED",
      threadId: this.options.threadId,
      runId: this.options.runId(this.segment),
      ...(isResult ? { result: output } : undefined),
      outcome: outcome === "paused" && interrupts.length > 0
        ? { type: "interrupt", interrupts }
        : outcome === "success" || (outcome === "paused" && isOfPage)
        ? { type: "success" }
        : (this.options.speaksV1 ?? true)
        ? { type: "cancelled" }
        : undefined,
      usage
    })
    this.interrupts.clear()
  }
}

/**
 * Turns the events of one run, in order, into AG-UI's.
 *
 * @category converting
 * @since 0.2.0
 */
export const make = (options: Options): AgUiStream => new AgUiStream(options)

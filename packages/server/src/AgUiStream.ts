/**
 * AG-UI event stream: the events of a run as AG-UI 1.0, for `HttpAgent` and every other client of the protocol.
 *
 * The mapping is a pure function of the events. A run that pauses ends like an AG-UI run with interrupts; its
 * resumption is the next AG-UI run of the thread.
 */
import type { AgentEvent } from "@recourse/core/AgentEvent"
import { type AgUiEvent, protocolVersion } from "./AgUiEvent.ts"
import { Interrupts } from "./internal/wire/agUi/interrupts.ts"
import { Names, type Untimed } from "./internal/wire/agUi/names.ts"
import { ownEvent } from "./internal/wire/agUi/ownEvents.ts"
import { RecoveryTimelines } from "./internal/wire/agUi/recoveryTimelines.ts"
import { ToolCalls } from "./internal/wire/agUi/toolCalls.ts"
import { TurnParts } from "./internal/wire/agUi/turnParts.ts"
import { couldNot, wentWrong } from "./internal/wire/texts.ts"
export { preliminaryActivity, progressActivity } from "./internal/wire/agUi/ownEvents.ts"
export { recoveryActivity } from "./internal/wire/agUi/recoveryTimelines.ts"

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

/**
 * Turns the events of one run, in order, into AG-UI's.
 *
 * @category models
 * @since 0.2.0
 */
export class AgUiStream {
  private readonly options: Options
  private readonly names = new Names()
  private readonly turns: TurnParts
  private readonly calls: ToolCalls
  private readonly recoveries: RecoveryTimelines
  private readonly interrupts: Interrupts
  private readonly shows: (tool: string) => boolean
  private segment = -1

  constructor(options: Options) {
    this.options = options
    this.shows = options.shows ?? (() => true)
    this.turns = new TurnParts(this.names)
    this.calls = new ToolCalls(this.names, this.shows, (event) => this.turns.messageOf(event))
    this.recoveries = new RecoveryTimelines(this.names)
    this.interrupts = new Interrupts(this.names, options.interruptId)
  }

  /** AG-UI's events for the next event. */
  next(event: AgentEvent): ReadonlyArray<AgUiEvent> {
    const out: Array<Untimed> = []
    this.map(event, out)
    const recovered = this.recoveries.next(event)
    if (recovered !== undefined) out.push(recovered)
    return out.map((mapped): AgUiEvent => ({ ...mapped, timestamp: Math.trunc(event.at) }) as AgUiEvent)
  }

  /** The events of a run whose events stop before their end: the process that ran it is gone. */
  cut(message: string, at: number): ReadonlyArray<AgUiEvent> {
    return [{ type: "RUN_ERROR", message, code: "interrupted", timestamp: at }]
  }

  private map(event: AgentEvent, out: Array<Untimed>): void {
    switch (event._tag) {
      case "RunStarted":
        return this.runStarted(event, out)
      case "RunFinished":
        return this.finish(event, out)
      case "AgentStarted":
        return this.agentStarted(event, out)
      case "AgentFinished":
        return this.agentFinished(event, out)
      case "ModelTurnStarted":
        this.close(event, out)
        return this.turns.start(event, out)
      case "TextDelta":
        return this.turns.text(event, out)
      case "TextFinished":
        return this.turns.endText(event, out)
      case "ReasoningDelta":
        return this.turns.reasoning(event, out)
      case "ReasoningFinished":
        return this.turns.endReasoning(event, out)
      case "ModelTurnFinished":
        return this.turns.finish(event, out)
      case "ToolCallDelta":
        return this.calls.arguments(event, out)
      case "ToolCallStarted":
        return this.calls.execution(event, out)
      case "ToolResult":
        return this.calls.result(event, out)
      case "ApprovalRequested":
        return this.interrupts.hear(event)
      default: {
        const own = ownEvent(event, this.names, this.shows)
        if (own !== undefined) out.push(own)
      }
    }
  }

  private runStarted(event: Of<"RunStarted">, out: Array<Untimed>): void {
    const { runId, threadId } = this.options
    this.segment++
    this.calls.isContinued ||= event.resumed && this.segment === 0
    this.names.begin(event.agentRunId)
    this.recoveries.clear()
    out.push({ type: "RUN_STARTED", threadId, runId: runId(this.segment), protocolVersion })
  }

  private agentStarted(event: Of<"AgentStarted">, out: Array<Untimed>): void {
    const { agentRunId, parent } = event
    const { names } = this
    names.beginWithin(agentRunId)
    const isNested = parent !== undefined && parent.agentRunId !== names.root && names.hasStarted(parent.agentRunId)
    out.push({
      type: "SUBAGENT_STARTED",
      subagentRunId: names.within(agentRunId),
      name: event.path.at(-1) ?? "",
      ...(isNested ? { parentSubagentRunId: names.within(parent.agentRunId) } : undefined),
      ...(parent?.callId === undefined
        ? undefined
        : { parentToolCallId: this.names.callId({ agentRunId: parent.agentRunId, callId: parent.callId }) })
    })
  }

  private agentFinished(event: Of<"AgentFinished">, out: Array<Untimed>): void {
    this.close(event, out)
    const { agentRunId, outcome } = event
    const subagentRunId = this.names.within(agentRunId)
    if (outcome === "success") {
      out.push({ type: "SUBAGENT_FINISHED", subagentRunId, outcome: { type: "success" } })
    } else if (outcome === "paused") {
      const interruptIds = this.interrupts.idsOf(agentRunId)
      out.push({ type: "SUBAGENT_FINISHED", subagentRunId, outcome: { type: "suspended", interruptIds } })
    } else {
      const code = outcome === "interrupted" ? "interrupted" : event.code
      out.push({
        type: "SUBAGENT_ERROR",
        subagentRunId,
        message: event.userMessage ?? couldNot(event.path.at(-1) ?? ""),
        ...(code === undefined ? undefined : { code })
      })
    }
  }

  /** Ends the unclosed parts of an agent's run. */
  private close(event: AgentEvent, out: Array<Untimed>): void {
    this.turns.closeTexts(event, out)
    this.calls.close(event, out)
    this.turns.closeStep(event, out)
  }

  private finish(event: Of<"RunFinished">, out: Array<Untimed>): void {
    this.close(event, out)
    const { code, outcome, output, pending = [] } = event
    const { inputTokens, outputTokens, totalTokens } = event.usage
    const usage = [{ inputTokens, outputTokens, totalTokens }]
    if (outcome === "failure") {
      const message = event.userMessage ?? wentWrong
      out.push({ type: "RUN_ERROR", message, usage, ...(code === undefined ? undefined : { code }) })
      return
    }
    if (outcome === "success" && typeof output === "string" && output !== "" && !this.turns.hasRootText) {
      this.turns.wholeText(`${event.runId}:output`, output, event, out)
    }
    const interrupts = this.interrupts.of(pending)
    // A run that waits for its page alone has no interrupt: the next input has the results as messages.
    const isOfPage = pending.length > 0 && interrupts.length === 0
    const isResult = outcome === "success" && output !== undefined && typeof output !== "string"
    out.push({
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

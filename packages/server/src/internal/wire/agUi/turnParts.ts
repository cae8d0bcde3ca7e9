/** Turn parts: the texts, reasonings and steps of the turns of each agent. AG-UI refuses an end before they are closed. */
import type { AgentEvent } from "@recourse/core/AgentEvent"
import type { Names, Untimed } from "./names.ts"

type Of<Tag extends AgentEvent["_tag"]> = Extract<AgentEvent, { readonly _tag: Tag }>

/** The present turn of an agent, and its unclosed parts. */
interface Turn {
  step: string | undefined
  /** The message of the turn; its text is open while one of the parts is. */
  message: string
  readonly texts: Set<string>
  hasText: boolean
  readonly reasonings: Set<string>
}

/** The turns of a run's agents. Each method adds AG-UI's events to `out`. */
export class TurnParts {
  /** True if the outermost agent has emitted a text. */
  hasRootText = false
  private readonly names: Names
  private readonly turns = new Map<string, Turn>()

  constructor(names: Names) {
    this.names = names
  }

  messageOf(event: { readonly agentRunId: string }): string {
    return this.of(event).message
  }

  start(event: Of<"ModelTurnStarted">, out: Array<Untimed>): void {
    const turn = this.of(event)
    turn.message = `${event.agentRunId}:turn-${event.turn}`
    turn.hasText = false
    turn.step = `turn ${event.turn}`
    out.push({ type: "STEP_STARTED", stepName: turn.step, ...this.names.by(event) })
  }

  text(event: Of<"TextDelta">, out: Array<Untimed>): void {
    const turn = this.of(event)
    const by = this.names.by(event)
    if (turn.texts.size === 0) {
      out.push({ type: "TEXT_MESSAGE_START", messageId: turn.message, role: "assistant", ...by })
    }
    turn.texts.add(event.partId)
    turn.hasText = true
    if (event.agentRunId === this.names.root) this.hasRootText = true
    out.push({ type: "TEXT_MESSAGE_CONTENT", messageId: turn.message, delta: event.delta, ...by })
  }

  endText(event: Of<"TextFinished">, out: Array<Untimed>): void {
    const turn = this.of(event)
    if (turn.texts.delete(event.partId) && turn.texts.size === 0) {
      out.push({ type: "TEXT_MESSAGE_END", messageId: turn.message, ...this.names.by(event) })
    }
  }

  /** The text of a turn that was not streamed. */
  finish(event: Of<"ModelTurnFinished">, out: Array<Untimed>): void {
    const { hasText, message } = this.of(event)
    if (event.text !== "" && !hasText) this.wholeText(message, event.text, event, out)
  }

  wholeText(messageId: string, text: string, event: AgentEvent, out: Array<Untimed>): void {
    const by = this.names.by(event)
    if (event.agentRunId === this.names.root) this.hasRootText = true
    out.push(
      { type: "TEXT_MESSAGE_START", messageId, role: "assistant", ...by },
      { type: "TEXT_MESSAGE_CONTENT", messageId, delta: text, ...by },
      { type: "TEXT_MESSAGE_END", messageId, ...by }
    )
  }

  reasoning(event: Of<"ReasoningDelta">, out: Array<Untimed>): void {
    const { reasonings } = this.of(event)
    const messageId = `${event.agentRunId}:${event.partId}`
    const by = this.names.by(event)
    if (!reasonings.has(messageId)) {
      reasonings.add(messageId)
      out.push(
        { type: "REASONING_START", messageId, ...by },
        { type: "REASONING_MESSAGE_START", messageId, role: "reasoning", ...by }
      )
    }
    out.push({ type: "REASONING_MESSAGE_CONTENT", messageId, delta: event.delta, ...by })
  }

  endReasoning(event: Of<"ReasoningFinished">, out: Array<Untimed>): void {
    const messageId = `${event.agentRunId}:${event.partId}`
    if (this.of(event).reasonings.delete(messageId)) this.closeReasoning(messageId, event, out)
  }

  /** Ends the unclosed texts and reasonings of an agent. */
  closeTexts(event: AgentEvent, out: Array<Untimed>): void {
    const turn = this.of(event)
    if (turn.texts.size > 0) {
      out.push({ type: "TEXT_MESSAGE_END", messageId: turn.message, ...this.names.by(event) })
    }
    for (const messageId of turn.reasonings) this.closeReasoning(messageId, event, out)
    turn.texts.clear()
    turn.reasonings.clear()
  }

  /** Ends the step of an agent, if it is in one. */
  closeStep(event: AgentEvent, out: Array<Untimed>): void {
    const turn = this.of(event)
    if (turn.step !== undefined) out.push({ type: "STEP_FINISHED", stepName: turn.step, ...this.names.by(event) })
    turn.step = undefined
  }

  private closeReasoning(messageId: string, event: AgentEvent, out: Array<Untimed>): void {
    const by = this.names.by(event)
    out.push({ type: "REASONING_MESSAGE_END", messageId, ...by }, { type: "REASONING_END", messageId, ...by })
  }

  private of({ agentRunId }: { readonly agentRunId: string }): Turn {
    const known = this.turns.get(agentRunId)
    if (known !== undefined) return known
    const turn: Turn = {
      step: undefined,
      message: `${agentRunId}:turn-0`,
      texts: new Set(),
      hasText: false,
      reasonings: new Set()
    }
    this.turns.set(agentRunId, turn)
    return turn
  }
}

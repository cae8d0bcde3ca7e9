/** Spans of a run, from its events. */
import { callKey, type Open, SpanTree } from "./spanTree.ts"
import type { Event } from "./types.ts"

type Of<Tag extends Event["_tag"]> = Extract<Event, { readonly _tag: Tag }>

const outcomes = { success: "success", failure: "failure", interrupted: "stopped", paused: "waiting" } as const

/** The spans of a run. */
export class Spans {
  private readonly tree = new SpanTree()

  get list(): ReadonlyArray<Open> {
    return this.tree.list
  }

  /** Number of call spans. */
  get calls(): number {
    return this.tree.calls
  }

  /** The span that an event is about. */
  receive(event: Event, number: number): string | undefined {
    const span = this.of(event, number)
    if (span !== undefined) span.last = number
    return span?.id
  }

  private of(event: Event, number: number): Open | undefined {
    const { tree } = this
    const { at } = event
    switch (event._tag) {
      case "RunStarted":
      case "AgentStarted":
        return this.agentStarted(event, number)
      case "RunFinished":
      case "AgentFinished":
        return this.agentFinished(event)
      case "ModelTurnStarted": {
        const { agentRunId, turn } = event
        return tree.begin(`${agentRunId}/turn/${turn}`, "turn", `turn ${turn}`, tree.agent(event), at, number)
      }
      case "ModelTurnFinished":
        return this.turnFinished(event)
      case "ModelTurnFailed":
        return tree.end(tree.last(tree.agent(event), "turn"), at, "failure", event.error)
      case "ModelRetry":
        return tree.wait(tree.agent(event), at, event.delay, number, event.error)
      case "TransportRetry":
        return tree.wait(tree.last(tree.agent(event), "turn"), at, event.delay, number, event.error)
      case "ToolCallStarted":
        return this.callStarted(event, number)
      case "ToolAttempt":
        return this.attemptStarted(event, number)
      case "ToolAttemptSucceeded":
        return tree.end(tree.last(tree.call(event), "attempt"), at, "success")
      case "ToolAttemptFailed":
        return this.attemptFailed(event)
      case "ToolRetry":
        return tree.wait(tree.call(event), at, event.delay, number, event.error)
      case "FixStarted":
        return tree.begin(`${callKey(event)}/fix/${number}`, "fix", event.fixer, tree.call(event), at, number)
      case "FixFinished":
        return this.fixFinished(event)
      case "ApprovalRequested":
        return this.approvalRequested(event, number)
      case "ApprovalDecided":
        return this.approvalDecided(event)
      case "ToolResult":
        return this.callFinished(event)
      case "ToolCompensated":
        return this.compensated(event)
      default:
        if ("callId" in event) return tree.call(event)
        return "turn" in event ? tree.last(tree.agent(event), "turn") ?? tree.agent(event) : tree.agent(event)
    }
  }

  private agentStarted(event: Of<"RunStarted" | "AgentStarted">, number: number): Open {
    const { tree } = this
    const known = tree.agent(event)
    if (known === undefined) {
      const name = event.path.at(-1) ?? ""
      const span = tree.begin(event.agentRunId, "agent", name, tree.around(event), event.at, number)
      span.input = event.input
      return span
    }
    tree.reopen(known)
    if (event._tag === "RunStarted") tree.stopAttempts(event.at)
    return known
  }

  private agentFinished(event: Of<"RunFinished" | "AgentFinished">): Open | undefined {
    const { at, outcome } = event
    if (event._tag === "RunFinished") this.tree.close(at, outcome === "paused")
    const span = this.tree.end(this.tree.agent(event), at, outcomes[outcome], event.error)
    if (span !== undefined) span.output = event.output
    return span
  }

  private turnFinished(event: Of<"ModelTurnFinished">): Open | undefined {
    const { at, finishReason, inputTokens, outputTokens } = event
    const note = `${finishReason}, ${inputTokens} + ${outputTokens} tokens`
    const span = this.tree.end(this.tree.last(this.tree.agent(event), "turn"), at, "success", note)
    if (span !== undefined) span.output = event.text
    return span
  }

  private callStarted(event: Of<"ToolCallStarted">, number: number): Open {
    const { tree } = this
    const known = tree.call(event)
    if (known !== undefined) {
      this.endQuestion(known, event.at)
      known.arguments = event.arguments
      return tree.reopen(known)
    }
    const { agentRunId, parentCallId } = event
    const outer = parentCallId === undefined ? undefined : tree.call({ agentRunId, callId: parentCallId })
    const span = tree.begin(callKey(event), "call", event.tool, outer ?? tree.agent(event), event.at, number)
    span.arguments = event.arguments
    return span
  }

  private attemptStarted(event: Of<"ToolAttempt">, number: number): Open {
    const id = `${callKey(event)}/attempt/${number}`
    const span = this.tree.begin(id, "attempt", `attempt ${event.attempt}`, this.tree.call(event), event.at, number)
    span.arguments = event.arguments
    return span
  }

  private attemptFailed(event: Of<"ToolAttemptFailed">): Open | undefined {
    const note = event.reason === undefined ? event.error : `${event.error}: ${event.reason}`
    const state = event.error === "OutcomeUnknown" ? "unknown" : "failure"
    return this.tree.end(this.tree.last(this.tree.call(event), "attempt"), event.at, state, note)
  }

  private fixFinished(event: Of<"FixFinished">): Open | undefined {
    const state = event.answer === "arguments" || event.answer === "result" ? "success" : "failure"
    const span = this.tree.end(this.tree.last(this.tree.call(event), "fix"), event.at, state, event.answer)
    if (span !== undefined) span.arguments = event.arguments
    return span
  }

  private approvalRequested(event: Of<"ApprovalRequested">, number: number): Open {
    const call = this.tree.call(event)
    const id = `${callKey(event)}/question/${number}`
    const span = this.tree.begin(id, "question", "approval", call, event.at, number)
    span.state = "waiting"
    span.note = event.reasons.join("; ")
    span.arguments = event.arguments
    if (call !== undefined) call.state = "waiting"
    return span
  }

  private approvalDecided(event: Of<"ApprovalDecided">): Open | undefined {
    const call = this.tree.call(event)
    const note = `${event.decision} by ${event.by ?? "a person"}`
    const state = event.decision === "rejected" ? "failure" : "success"
    const span = this.tree.end(this.tree.last(call, "question"), event.at, state, note)
    if (span !== undefined) span.arguments = event.arguments ?? event.before
    if (call !== undefined && call.state === "waiting") call.state = "running"
    return span ?? call
  }

  private callFinished(event: Of<"ToolResult">): Open | undefined {
    const call = this.tree.call(event)
    this.endQuestion(call, event.at)
    const state = event.code === "outcome_unknown" ? "unknown" : event.isFailure ? "failure" : "success"
    const span = this.tree.end(call, event.at, state, event.code)
    if (span !== undefined) span.output = event.result
    return span
  }

  /** Ends the question about a call that continues. */
  private endQuestion(call: Open | undefined, at: number): void {
    const question = this.tree.last(call, "question")
    if (question !== undefined && question.endedAt === undefined) this.tree.end(question, at, "success", "decided")
  }

  private compensated(event: Of<"ToolCompensated">): Open | undefined {
    const call = this.tree.within(event)
    if (call === undefined) return undefined
    call.state = event.outcome === "not_undone" ? "not_undone" : "undone"
    call.note = event.outcome === "not_undone"
      ? `not undone: ${event.because ?? "failed"}`
      : event.outcome === "undone"
      ? "undone"
      : "has not happened"
    return call
  }
}

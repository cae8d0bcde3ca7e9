/** Spans of a run: starts, parents and ends. */
import type { Event, Span, SpanKind, SpanState } from "./types.ts"

type Open = { -readonly [K in keyof Span]: Span[K] }

type Common = Pick<Event, "agentRunId" | "at" | "parent">

/** Names a call in the run: ids of calls are unique in one agent's run only. */
export const callKey = ({ agentRunId, callId }: { readonly agentRunId: string; readonly callId: string }): string =>
  `${agentRunId}/call/${callId}`

const seconds = (millis: number): string =>
  millis < 1000 ? `${Math.round(millis)} ms` : `${(millis / 1000).toFixed(1)} s`

const outcomes = { success: "success", failure: "failure", interrupted: "stopped", paused: "waiting" } as const

/** The spans of a run. */
export class Spans {
  readonly list: Array<Open> = []
  /** Number of call spans. */
  calls = 0
  private readonly byId = new Map<string, Open>()
  /** Spans that have not ended. */
  private readonly open = new Set<Open>()
  /** The last span of a kind within another: an attempt's end names its call. */
  private readonly latest = new Map<string, Open>()

  /** The span that an event is about. */
  hear(event: Event, number: number): string | undefined {
    const span = this.of(event, number)
    if (span !== undefined) span.last = number
    return span?.id
  }

  private begin(id: string, kind: SpanKind, name: string, parent: Open | undefined, at: number, number: number): Open {
    const span: Open = {
      id: this.byId.has(id) ? `${id}#${number}` : id,
      kind,
      name,
      parent: parent?.id,
      depth: parent === undefined ? 0 : parent.depth + 1,
      startedAt: at,
      endedAt: undefined,
      state: "running",
      note: undefined,
      arguments: undefined,
      input: undefined,
      output: undefined,
      first: number,
      last: number
    }
    this.byId.set(span.id, span)
    this.list.push(span)
    if (kind === "call") this.calls++
    this.open.add(span)
    if (parent !== undefined) this.latest.set(`${parent.id} ${kind}`, span)
    return span
  }

  private end(span: Open | undefined, at: number, state: SpanState, note?: string): Open | undefined {
    if (span === undefined) return undefined
    span.endedAt = at
    span.state = state
    if (note !== undefined) span.note = note
    this.open.delete(span)
    return span
  }

  private last(parent: Open | undefined, kind: SpanKind): Open | undefined {
    return parent === undefined ? undefined : this.latest.get(`${parent.id} ${kind}`)
  }

  private agent({ agentRunId }: Common): Open | undefined {
    return this.byId.get(agentRunId)
  }

  private call(event: Common & { readonly callId: string }): Open | undefined {
    return this.byId.get(callKey(event))
  }

  /** The call that an id with the calls around it names, such as `call_1/pay_1`. */
  private within(event: Common & { readonly callId: string }): Open | undefined {
    const exact = this.call(event)
    if (exact !== undefined) return exact
    const [first = "", ...rest] = event.callId.split("/")
    const outer = this.byId.get(callKey({ agentRunId: event.agentRunId, callId: first }))
    if (outer === undefined || rest.length === 0) return undefined
    for (const span of this.list) {
      if (span.kind !== "agent" || span.parent !== outer.id) continue
      const inner = this.within({ ...event, agentRunId: span.id, callId: rest.join("/") })
      if (inner !== undefined) return inner
    }
    return undefined
  }

  private around({ parent }: Common): Open | undefined {
    if (parent === undefined) return undefined
    const { agentRunId, callId } = parent
    return (callId === undefined ? undefined : this.byId.get(callKey({ agentRunId, callId }))) ??
      this.byId.get(agentRunId)
  }

  private wait(parent: Open | undefined, at: number, delay: number, number: number, why: string): Open | undefined {
    if (parent === undefined) return undefined
    const span = this.begin(`${parent.id}/wait/${number}`, "wait", "wait", parent, at, number)
    return this.end(span, at + delay, "success", `${seconds(delay)}, ${why}`)
  }

  // oxlint-disable-next-line max-lines-per-function -- one reducer, with a case for each event
  private of(event: Event, number: number): Open | undefined {
    const { at } = event
    switch (event._tag) {
      case "RunStarted":
      case "AgentStarted": {
        const known = this.agent(event)
        if (known === undefined) {
          const name = event.path.at(-1) ?? ""
          const span = this.begin(event.agentRunId, "agent", name, this.around(event), at, number)
          span.input = event.input
          return span
        }
        known.state = "running"
        known.endedAt = undefined
        this.open.add(known)
        if (event._tag === "RunStarted") this.goOn(at)
        return known
      }
      case "RunFinished":
      case "AgentFinished": {
        const state = outcomes[event.outcome]
        if (event._tag === "RunFinished") this.close(at, event.outcome === "paused")
        const span = this.end(this.agent(event), at, state, event.error)
        if (span !== undefined) span.output = event.output
        return span
      }
      case "ModelTurnStarted":
        return this.begin(
          `${event.agentRunId}/turn/${event.turn}`,
          "turn",
          `turn ${event.turn}`,
          this.agent(event),
          at,
          number
        )
      case "ModelTurnFinished": {
        const { finishReason, inputTokens, outputTokens } = event
        const note = `${finishReason}, ${inputTokens} + ${outputTokens} tokens`
        const span = this.end(this.last(this.agent(event), "turn"), at, "success", note)
        if (span !== undefined) span.output = event.text
        return span
      }
      case "ModelTurnFailed":
        return this.end(this.last(this.agent(event), "turn"), at, "failure", event.error)
      case "ModelRetry":
        return this.wait(this.agent(event), at, event.delay, number, event.error)
      case "TransportRetry":
        return this.wait(this.last(this.agent(event), "turn"), at, event.delay, number, event.error)
      case "ToolCallStarted": {
        const known = this.call(event)
        if (known !== undefined) {
          const asked = this.last(known, "question")
          if (asked !== undefined && asked.endedAt === undefined) this.end(asked, at, "success", "decided")
          known.arguments = event.arguments
          known.endedAt = undefined
          known.state = "running"
          this.open.add(known)
          return known
        }
        const { agentRunId, parentCallId } = event
        const within = parentCallId === undefined
          ? undefined
          : this.byId.get(callKey({ agentRunId, callId: parentCallId }))
        const span = this.begin(callKey(event), "call", event.tool, within ?? this.agent(event), at, number)
        span.arguments = event.arguments
        return span
      }
      case "ToolAttempt": {
        const call = this.call(event)
        const span = this.begin(
          `${callKey(event)}/attempt/${number}`,
          "attempt",
          `attempt ${event.attempt}`,
          call,
          at,
          number
        )
        span.arguments = event.arguments
        return span
      }
      case "ToolAttemptSucceeded":
        return this.end(this.last(this.call(event), "attempt"), at, "success")
      case "ToolAttemptFailed": {
        const note = event.reason === undefined ? event.error : `${event.error}: ${event.reason}`
        const state = event.error === "OutcomeUnknown" ? "unknown" : "failure"
        return this.end(this.last(this.call(event), "attempt"), at, state, note)
      }
      case "ToolRetry":
        return this.wait(this.call(event), at, event.delay, number, event.error)
      case "FixStarted":
        return this.begin(`${callKey(event)}/fix/${number}`, "fix", event.fixer, this.call(event), at, number)
      case "FixFinished": {
        const isFixed = event.answer === "arguments" || event.answer === "result"
        const span = this.end(this.last(this.call(event), "fix"), at, isFixed ? "success" : "failure", event.answer)
        if (span !== undefined) span.arguments = event.arguments
        return span
      }
      case "ApprovalRequested": {
        const call = this.call(event)
        const span = this.begin(`${callKey(event)}/question/${number}`, "question", "approval", call, at, number)
        span.state = "waiting"
        span.note = event.reasons.join("; ")
        span.arguments = event.arguments
        if (call !== undefined) call.state = "waiting"
        return span
      }
      case "ApprovalDecided": {
        const call = this.call(event)
        const note = `${event.decision} by ${event.by ?? "a person"}`
        const asked = this.last(call, "question")
        const span = this.end(asked, at, event.decision === "rejected" ? "failure" : "success", note)
        if (span !== undefined) span.arguments = event.arguments ?? event.before
        if (call !== undefined && call.state === "waiting") call.state = "running"
        return span ?? call
      }
      case "ToolResult": {
        const call = this.call(event)
        const asked = this.last(call, "question")
        if (asked !== undefined && asked.endedAt === undefined) this.end(asked, at, "success", "decided")
        const state = event.code === "outcome_unknown" ? "unknown" : event.isFailure ? "failure" : "success"
        const span = this.end(call, at, state, event.code)
        if (span !== undefined) span.output = event.result
        return span
      }
      case "ToolCompensated": {
        const call = this.within(event)
        if (call === undefined) return undefined
        call.state = event.outcome === "not_undone" ? "not_undone" : "undone"
        call.note = event.outcome === "not_undone"
          ? `not undone: ${event.because ?? "failed"}`
          : event.outcome === "undone"
          ? "undone"
          : "has not happened"
        return call
      }
      default:
        if ("callId" in event) return this.call(event)
        return "turn" in event ? this.last(this.agent(event), "turn") ?? this.agent(event) : this.agent(event)
    }
  }

  /** The run resumes: waiting agents and calls do as well, when their events arrive. */
  private goOn(at: number): void {
    for (const span of this.open) if (span.kind === "turn" || span.kind === "attempt") this.end(span, at, "stopped")
  }

  /** The run has ended, or waits: open spans are waiting, or were stopped. */
  private close(at: number, isPaused: boolean): void {
    for (const span of this.open) {
      if (isPaused) {
        if (span.state === "running") span.state = "waiting"
      } else this.end(span, at, "stopped")
    }
  }
}

/** Tree of a run's spans: their starts, parents and ends. */
import type { Event, Span, SpanKind, SpanState } from "./types.ts"

/** A span that its run may still change. */
export type Open = { -readonly [K in keyof Span]: Span[K] }

type Common = Pick<Event, "agentRunId" | "at" | "parent">

/** Names a call in the run: ids of calls are unique in one agent's run only. */
export const callKey = ({ agentRunId, callId }: { readonly agentRunId: string; readonly callId: string }): string =>
  `${agentRunId}/call/${callId}`

const seconds = (millis: number): string =>
  millis < 1000 ? `${Math.round(millis)} ms` : `${(millis / 1000).toFixed(1)} s`

/** The spans of a run, the first ones first. */
export class SpanTree {
  readonly list: Array<Open> = []
  /** Number of call spans. */
  calls = 0
  private readonly byId = new Map<string, Open>()
  /** Spans that have not ended. */
  private readonly open = new Set<Open>()
  /** The last span of a kind within another: an attempt's end names its call. */
  private readonly latest = new Map<string, Open>()

  /** Adds a span that starts with an event. */
  begin(id: string, kind: SpanKind, name: string, parent: Open | undefined, at: number, number: number): Open {
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

  /** Marks a span as running again. */
  reopen(span: Open): Open {
    span.state = "running"
    span.endedAt = undefined
    this.open.add(span)
    return span
  }

  /** Ends a span, if there is one. */
  end(span: Open | undefined, at: number, state: SpanState, note?: string): Open | undefined {
    if (span === undefined) return undefined
    span.endedAt = at
    span.state = state
    if (note !== undefined) span.note = note
    this.open.delete(span)
    return span
  }

  /** The last span of a kind within another. */
  last(parent: Open | undefined, kind: SpanKind): Open | undefined {
    return parent === undefined ? undefined : this.latest.get(`${parent.id} ${kind}`)
  }

  agent({ agentRunId }: Common): Open | undefined {
    return this.byId.get(agentRunId)
  }

  call(event: { readonly agentRunId: string; readonly callId: string }): Open | undefined {
    return this.byId.get(callKey(event))
  }

  /** The call that an id with the calls around it names, such as `call_1/pay_1`. */
  within(event: Common & { readonly callId: string }): Open | undefined {
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

  /** The call, or else the agent, that an agent runs in. */
  around({ parent }: Common): Open | undefined {
    if (parent === undefined) return undefined
    const { agentRunId, callId } = parent
    return (callId === undefined ? undefined : this.byId.get(callKey({ agentRunId, callId }))) ??
      this.byId.get(agentRunId)
  }

  /** Adds a wait that has ended by itself. */
  wait(parent: Open | undefined, at: number, delay: number, number: number, why: string): Open | undefined {
    if (parent === undefined) return undefined
    const span = this.begin(`${parent.id}/wait/${number}`, "wait", "wait", parent, at, number)
    return this.end(span, at + delay, "success", `${seconds(delay)}, ${why}`)
  }

  /** Stops turns and attempts of a run that resumes: waiting agents and calls do as well, when their events arrive. */
  stopAttempts(at: number): void {
    for (const span of this.open) if (span.kind === "turn" || span.kind === "attempt") this.end(span, at, "stopped")
  }

  /** The run has ended, or waits: open spans are waiting, or were stopped. */
  close(at: number, isPaused: boolean): void {
    for (const span of this.open) {
      if (isPaused) {
        if (span.state === "running") span.state = "waiting"
      } else this.end(span, at, "stopped")
    }
  }
}

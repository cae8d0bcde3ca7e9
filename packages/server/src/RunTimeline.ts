/**
 * Run timeline: an operator's view of a run, made of its events. Spans of agents, turns, calls, attempts, repairs,
 * waits and questions; the reason of each decision; the projections of each failure; the requests to the model;
 * budgets.
 *
 * It is a pure function of the events, on the server and in a page: the same events give the same timeline, live and afterwards.
 */
import type { AgentEvent } from "@recourse/core/AgentEvent"
import * as RunUsage from "@recourse/core/RunUsage"
import { Budgets } from "./internal/timeline/budgets.ts"
import { decisionOf } from "./internal/timeline/decisions.ts"
import { Outcomes } from "./internal/timeline/outcomes.ts"
import { Failures } from "./internal/timeline/failures.ts"
import { Requests } from "./internal/timeline/requests.ts"
import { Spans } from "./internal/timeline/spans.ts"
import { callKey } from "./internal/timeline/spanTree.ts"
import { usedBy } from "./internal/timeline/usage.ts"
import type { CallOutcome, Decision, Event, Failure, Meter, Request, Span } from "./internal/timeline/types.ts"
export type {
  CallOutcome,
  Decision,
  Event,
  Failure,
  Message,
  Meter,
  Request,
  Span,
  SpanKind,
  SpanState
} from "./internal/timeline/types.ts"

/**
 * Pending calls of a paused run.
 *
 * @category models
 * @since 0.2.0
 */
export type Pending = NonNullable<Extract<AgentEvent, { readonly _tag: "RunFinished" }>["pending"]>

/**
 * The timeline of a run: a value.
 *
 * @category models
 * @since 0.2.0
 */
export interface Timeline {
  readonly spans: ReadonlyArray<Span>
  readonly decisions: ReadonlyArray<Decision>
  readonly failures: ReadonlyArray<Failure>
  /** Writes whose outcome is unknown, and writes that were compensated or could not be. */
  readonly outcomes: ReadonlyArray<CallOutcome>
  readonly requests: ReadonlyArray<Request>
  readonly meters: ReadonlyArray<Meter>
  /** Usage of the run. Until it ends: that of its events so far, without costs. */
  readonly usage: RunUsage.RunUsage
  /** Number of called tools, regardless of the attempts of each call. */
  readonly calls: number
  /** Time that the run has waited for people, in milliseconds, up to the last resumption. */
  readonly waited: number
  /** Since when it waits, in milliseconds since the epoch, if it does. */
  readonly waitingSince: number | undefined
  /** The calls that the run waits for. */
  readonly pending: Pending
}

/**
 * The timeline of a run that grows with each of its events. Its lists are its own: they grow, too.
 *
 * @category models
 * @since 0.2.0
 */
export class RunTimeline implements Timeline {
  private readonly spanning = new Spans()
  private readonly failing = new Failures()
  private readonly settling = new Outcomes()
  private readonly requesting = new Requests()
  private readonly budgets = new Budgets()
  private readonly decided: Array<Decision> = []
  private use: RunUsage.RunUsage = RunUsage.none
  private waiting: Pending = []
  waited = 0
  waitingSince: number | undefined
  /** Number of received events. */
  count = 0

  get spans(): ReadonlyArray<Span> {
    return this.spanning.list
  }

  get decisions(): ReadonlyArray<Decision> {
    return this.decided
  }

  get failures(): ReadonlyArray<Failure> {
    return this.failing.list
  }

  get outcomes(): ReadonlyArray<CallOutcome> {
    return this.settling.list
  }

  get requests(): ReadonlyArray<Request> {
    return this.requesting.list
  }

  get meters(): ReadonlyArray<Meter> {
    return this.budgets.list
  }

  get usage(): RunUsage.RunUsage {
    return this.use
  }

  get calls(): number {
    return this.spanning.calls
  }

  get pending(): Pending {
    return this.waiting
  }

  /** The next event, with its number in the run. An event that it has already read has no effect. */
  next(event: Event, number: number): void {
    if (number < this.count) return
    this.count = number + 1
    const span = this.spanning.receive(event, number)
    this.failing.receive(event, number, span)
    this.settling.receive(event, number, span)
    this.requesting.receive(event, number)
    this.budgets.receive(event)
    const decision = decisionOf(event)
    if (decision !== undefined) this.decided.push({ ...decision, number, at: event.at, spanId: span })
    if (event._tag === "RunStarted") {
      this.waiting = []
      if (this.waitingSince !== undefined) this.waited += Math.max(0, event.at - this.waitingSince)
      this.waitingSince = undefined
    }
    if (event._tag === "RunFinished") {
      this.waitingSince = event.outcome === "paused" ? event.at : undefined
      this.use = event.usage
      this.waiting = event.pending ?? []
      return
    }
    const more = usedBy(event)
    for (const kind of Object.keys(more) as Array<keyof RunUsage.RunUsage>) {
      this.use = { ...this.use, [kind]: (this.use[kind] ?? 0) + more[kind]! }
    }
  }

  /** The messages of a request, those that the request before had too included. */
  messages(request: Request): Request["added"] {
    return this.requesting.messages(request)
  }

  /** The timeline as JSON. */
  toJSON(): Timeline {
    const { calls, decisions, failures, meters, outcomes, pending, requests, spans, usage, waited, waitingSince } = this
    return { spans, decisions, failures, outcomes, requests, meters, usage, calls, waited, waitingSince, pending }
  }
}

/**
 * An empty timeline.
 *
 * @category constructors
 * @since 0.2.0
 */
export const make = (): RunTimeline => new RunTimeline()

/**
 * The timeline of events, the first of which is the run's first.
 *
 * **Example** (The calls of a run)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent, AgentEvent, Tool } from "@recourse/core"
 * import { RunTimeline } from "@recourse/server"
 * import { ScriptedModel } from "@recourse/testing"
 *
 * const Look = Tool.make("look", { effects: "read", execute: () => Effect.void })
 * const agent = Agent.make("a", { tools: [Look] })
 * const events: Array<AgentEvent.AgentEvent> = []
 *
 * await Effect.runPromise(agent.run("Go").pipe(
 *   Effect.provide(AgentEvent.listen((event) => Effect.sync(() => events.push(event)))),
 *   Effect.provide(ScriptedModel.layer([ScriptedModel.call("look", {}), ScriptedModel.text("Done.")]))
 * ))
 * RunTimeline.fromEvents(events).spans.map(({ kind }) => kind) // => ["agent", "turn", "call", "attempt", "turn"]
 * ```
 *
 * @category constructors
 * @since 0.2.0
 */
export const fromEvents = (events: Iterable<Event>): RunTimeline => {
  const timeline = make()
  for (const event of events) timeline.next(event, timeline.count)
  return timeline
}

/**
 * The id of a call's span: ids of calls are unique in one agent's run only.
 *
 * @category getters
 * @since 0.2.0
 */
export const callSpanId: (call: { readonly agentRunId: string; readonly callId: string }) => string = callKey

/**
 * Event listeners: each hears every event, one at a time and in order, in its own fiber. A failure of that fiber does
 * not reach the run. The run waits for a listener, at most as long as the listener's limit.
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import {
  CurrentSyncListener,
  Deaf,
  defaultTimeLimit,
  Details,
  type Listener,
  listenersOf,
  type SyncListener
} from "../../../AgentEventListener.ts"
import type { AgentEvent } from "../../../AgentEventSchema.ts"
import { Redaction } from "../../../Redaction.ts"
import { isInterrupted } from "../../foundation/effect/annotateInterruption.ts"
import { forOperator } from "../../projection/audiences.ts"
import { effectResult } from "../../foundation/options/hookResult.ts"
import { ofLatest } from "../../foundation/lazyValue.ts"

type AnyContext = Context.Context<never>

/** The longest wait of an interruption for a listener. */
const interruptionWait = Duration.seconds(1)

/** Receives every event of a run. Returns the effect that the run waits for before it continues. */
export interface EventSink {
  readonly emit: (event: AgentEvent, fiber: Fiber.Fiber<unknown, unknown>) => Effect.Effect<void>
}

interface Delivery {
  readonly event: AgentEvent
  readonly fiber: Fiber.Fiber<unknown, unknown>
  readonly context: AnyContext
  /** Done when the sender need not wait any more. */
  readonly settled: Deferred.Deferred<void>
}

/** A listener receives the events of a run until it does not answer one of them in time. */
type Reception =
  | {
    readonly _tag: "Receiving"
    /** Deliveries that are not settled. The listener executes the first one. */
    readonly deliveries: ReadonlyArray<Delivery>
    /** True if its first failure was logged. */
    readonly isLogged: boolean
  }
  | { readonly _tag: "GivenUp" }

const hook = { subject: "AgentEvent.listen", name: "the listener" }

/** A listener of the program, for one run and everything nested in it. */
export class ContainedListener implements EventSink {
  readonly listener: Listener
  private readonly timeLimit: Duration.Input
  /**
   * Effects of a listener in its fiber are no part of the run, and it does not receive their events. Most events of a run share a context.
   */
  private readonly outside: (context: AnyContext) => AnyContext
  private reception: Reception = { _tag: "Receiving", deliveries: [], isLogged: false }

  constructor(listener: Listener, timeLimit: Duration.Input, outOfRun: (context: AnyContext) => AnyContext) {
    this.listener = listener
    this.timeLimit = timeLimit
    this.outside = ofLatest((context: AnyContext) =>
      Context.add(outOfRun(context), Deaf, new Set([...Context.get(context, Deaf), listener]))
    )
  }

  emit(event: AgentEvent, fiber: Fiber.Fiber<unknown, unknown>): Effect.Effect<void> {
    const { reception } = this
    if (reception._tag === "GivenUp") return Effect.void
    const { deliveries, isLogged } = reception
    const settled = Deferred.makeUnsafe<void>()
    const delivery = { event, fiber, context: fiber.context, settled }
    this.reception = { _tag: "Receiving", deliveries: [...deliveries, delivery], isLogged }
    if (deliveries.length === 0) this.deliverAll()
    return Deferred.isDoneUnsafe(settled) ? Effect.void : Deferred.await(settled)
  }

  /** Starts the first delivery, and each later one at the end of the one before it. */
  private deliverAll(): void {
    while (this.deliver(this.deliveries[0]!)) continue
  }

  /** Returns true if the delivery is settled, and is to be followed by another one. */
  private deliver(delivery: Delivery): boolean {
    const run = Effect.runForkWith(this.outside(delivery.context))
    const hearing = run(Effect.suspend(() => effectResult(hook, this.listener(delivery.event))))
    const exit = hearing.pollUnsafe()
    if (exit !== undefined) return this.settle(delivery, exit)
    const timer = run(this.patience(Duration.fromInputUnsafe(this.timeLimit)))
    timer.addObserver((exit) => {
      if (Exit.isFailure(exit) || Deferred.isDoneUnsafe(delivery.settled)) return
      this.giveUp(delivery)
      hearing.interruptUnsafe()
    })
    hearing.addObserver((exit) => {
      timer.interruptUnsafe()
      if (this.settle(delivery, exit)) this.deliverAll()
    })
    return false
  }

  /** Ends when a listener is waited for no longer: its limit is over, or an interruption waits for it. */
  private patience(limit: Duration.Duration): Effect.Effect<void> {
    const part = Duration.min(limit, interruptionWait)
    return Effect.flatMap(Effect.sleep(part), () => {
      const left = Duration.subtract(limit, part)
      return Duration.isZero(left) || this.deliveries.some(({ fiber }) => isInterrupted(fiber))
        ? Effect.void
        : this.patience(left)
    })
  }

  /** Removes a delivery. Returns true if others wait: a sender that continues here starts its own delivery only if none does. */
  private settle(delivery: Delivery, exit: Exit.Exit<unknown, unknown>): boolean {
    if (Exit.isFailure(exit)) this.log(delivery, "A listener failed: the run continues", exit.cause)
    const { reception } = this
    if (reception._tag === "GivenUp") return false
    const deliveries = reception.deliveries.slice(1)
    this.reception = { ...reception, deliveries }
    Deferred.doneUnsafe(delivery.settled, Effect.void)
    return deliveries.length > 0
  }

  private get deliveries(): ReadonlyArray<Delivery> {
    return this.reception._tag === "Receiving" ? this.reception.deliveries : []
  }

  /** A listener that does not answer receives no more events of this run. */
  private giveUp(delivery: Delivery): void {
    const { deliveries } = this
    this.log(delivery, "A listener did not answer within its time limit: it receives no more events of this run")
    this.reception = { _tag: "GivenUp" }
    for (const { settled } of deliveries) Deferred.doneUnsafe(settled, Effect.void)
  }

  private log({ context, event }: Delivery, problem: string, cause?: Cause.Cause<unknown>): void {
    const { reception } = this
    if (reception._tag === "GivenUp" || reception.isLogged) return
    this.reception = { ...reception, isLogged: true }
    log(event, context, problem, cause)
  }
}

const log = (event: AgentEvent, context: AnyContext, problem: string, cause?: Cause.Cause<unknown>): void => {
  const redactor = Context.get(context, Redaction)
  const said = cause && forOperator(cause, event.runId)
  Effect.runForkWith(context)(
    Effect.annotateLogs(Effect.logWarning(problem), {
      event: event._tag,
      trace_id: event.runId,
      ...(said === undefined ? undefined : { error: said.error, cause: redactor.text(said.text, event.runId) })
    })
  )
}

/** A plain function of the program: called at once, without waiting. */
class ContainedSyncListener implements EventSink {
  readonly syncListener: SyncListener
  private isLogged = false

  constructor(syncListener: SyncListener) {
    this.syncListener = syncListener
  }

  emit(event: AgentEvent, { context }: Fiber.Fiber<unknown, unknown>): Effect.Effect<void> {
    try {
      this.syncListener(event)
    } catch (error) {
      if (!this.isLogged) log(event, context, "A listener failed: the run continues", Cause.die(error))
      this.isLogged = true
    }
    return Effect.void
  }
}

const listenerOf = (sink: EventSink): Listener | SyncListener | undefined =>
  sink instanceof ContainedListener
    ? sink.listener
    : sink instanceof ContainedSyncListener
    ? sink.syncListener
    : undefined

/** Listeners of a run and of everything nested in it, and the number of events. */
export interface Audience {
  readonly sinks: ReadonlyArray<EventSink>
  /** One for the run and everything nested in it. */
  readonly emitted: { events: number; isOver: boolean }
  /** True if events contain details for operators. */
  readonly details: boolean
}

/** Listeners of a run: those of the run around it, those of the context, and the one that started it. */
export const audienceOf = (
  around: Audience | undefined,
  context: AnyContext,
  own: EventSink | undefined,
  outOfRun: (context: AnyContext) => AnyContext
): Audience | undefined => {
  const listening = listenersOf(context)
  const syncListener = Context.get(context, CurrentSyncListener)
  const known = new Set(around?.sinks.map(listenerOf))
  const sinks: Array<EventSink> = []
  if (syncListener !== undefined && !known.has(syncListener)) sinks.push(new ContainedSyncListener(syncListener))
  for (const { listener, timeLimit = defaultTimeLimit } of listening) {
    if (known.has(listener)) continue
    known.add(listener)
    sinks.push(new ContainedListener(listener, timeLimit, outOfRun))
  }
  if (own !== undefined) sinks.push(own)
  if (sinks.length === 0) return around
  return {
    sinks: [...around?.sinks ?? [], ...sinks],
    emitted: around?.emitted ?? { events: 0, isOver: false },
    details: Context.get(context, Details)
  }
}

/** Emits an event to all listeners, and returns the effect that the run waits for. */
export const emitTo = (
  { sinks }: Audience,
  event: AgentEvent,
  fiber: Fiber.Fiber<unknown, unknown>
): Effect.Effect<void> => {
  let waits: Effect.Effect<void> = Effect.void
  for (const sink of sinks) {
    const answered = sink.emit(event, fiber)
    if (answered === Effect.void) continue
    waits = waits === Effect.void ? answered : Effect.andThen(waits, answered)
  }
  return waits
}

/** Recorder: the journal of an execution, and the steps and events that it adds to its run. */
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import type * as Schema from "effect/Schema"
import type * as AgentEvent from "@recourse/core/AgentEvent"
import * as Journal from "@recourse/core/Journal"
import { type Failure, monotonicMillis } from "@recourse/core/Runs"
import { type Changes, eventsOf, pendingOf } from "./changes.ts"
import { claimOf } from "./claimOf.ts"
import type { Conversation, KnownConversations } from "../store/conversation.ts"
import { stepDuration } from "./counting.ts"
import { finishOf } from "../store/unemittedEnds.ts"
import type { Execution } from "./execution.ts"
import { InTransaction, outside } from "./inTransaction.ts"
import type { Places } from "../queue/processSlots.ts"
import { RunStoreError, type Settlement, type Step, type Store, type StoredRun } from "../store/store.ts"
import { StoredForms } from "../store/storedForms.ts"
import { restartsOf, UnrecordedEvents } from "./unrecordedEvents.ts"
import type { Writer } from "./writer.ts"

/** Services of executions. */
export interface Surroundings {
  readonly store: Store
  readonly writer: Writer
  /** Something of the run is new in the store. */
  readonly notify: (runId: string) => void
  /** Subscribes to the calls of {@link notify} with a name. */
  readonly subscribe: Changes["subscribe"]
  /** True if the events of the run have a reader. */
  readonly isRead: (runId: string) => boolean
  /** True if its events have a reader in another process. */
  readonly isFollowed: (runId: string) => boolean
  readonly places: Places
  readonly known: KnownConversations
}

/** Time for which events are collected before the run's readers receive them. */
const gathered = "100 millis"

/** Report of an unknown failure. */
export const noFailure: Failure = { error: "Error", code: "execution_error", userMessage: "" }

/** The journal of an execution, and its added steps. */
export class Recorder {
  private readonly run: StoredRun
  private readonly around: Surroundings
  private readonly clock: Clock.Clock
  /** When the execution started, by the monotonic clock. */
  private readonly started: number
  private readonly execution: Execution
  private readonly recorded = new Map<string, Effect.Effect<void>>()
  private readonly unrecorded = new UnrecordedEvents()
  /** Steps that come with the next one. */
  private noted: Array<Step> = []
  private position: number
  private firstEvent: number
  private readonly forms: StoredForms
  readonly journal: Journal.Journal
  /** Returns when all submitted steps are durable: the end of the run follows them. */
  written: Effect.Effect<unknown> = Effect.void
  failure: Failure | undefined
  private readonly over: Failure | undefined
  /** The last event of an ended run: uncompensated writes are emitted before. */
  private last: AgentEvent.AgentEvent | undefined
  /** Number of replayed entries of earlier executions. */
  found = 0
  /** Answers and outcomes of earlier executions that are not replayed yet. */
  private readonly left: Set<string>
  /** True if the agent has emitted its start: from then on it compensates its writes. */
  hasStarted = false
  /** True if the agent has emitted its end. */
  private isFinished = false
  /** Its emitted end, if it has not started again. */
  ended: AgentEvent.RunFinished | undefined

  constructor(
    run: StoredRun,
    loaded: Effect.Success<ReturnType<Store["load"]>>,
    around: Surroundings,
    clock: Clock.Clock,
    { conversation, earlier: events, execution, mayNote }: {
      readonly conversation: Conversation
      /** Recorded events. */
      readonly earlier: ReadonlyArray<Schema.Json>
      readonly execution: Execution
      /** True if steps may wait for the next one. */
      readonly mayNote: boolean
    }
  ) {
    this.run = run
    this.around = around
    this.clock = clock
    this.started = monotonicMillis(clock)
    this.execution = execution
    this.failure = this.over = execution.over
    this.position = loaded.positions
    this.firstEvent = loaded.events
    this.forms = new StoredForms(run, conversation, loaded.steps)
    const now = clock.currentTimeMillisUnsafe()
    for (const event of restartsOf(events, now)) this.unrecorded.add(event)
    const earlier = new Map(loaded.steps.map((step) => [`${step.kind} ${step.key}`, step]))
    this.left = new Set([...earlier.keys()].filter((key) => key.startsWith("model ") || key.startsWith("call ")))
    this.journal = {
      runId: run.runId,
      isResumed: run.epoch > 1,
      isCancelled: () => execution.isCancelled,
      elapsedBefore: Math.max(run.ran, loaded.steps.at(-1)?.elapsed ?? 0),
      find: (kind, key) => {
        const step = earlier.get(`${kind} ${key}`)
        if (step === undefined) return undefined
        this.found++
        if (this.left.delete(`${kind} ${key}`) && this.left.size === 0) execution.on("meet")
        return step.value
      },
      entries: (kind) =>
        [...earlier.values()].filter((step) => step.kind === kind).map(({ key, value }) => [key, value]),
      record: (kind, key, value) => this.record(kind, key, value),
      note: (kind, key, value) => mayNote && !this.isRead ? this.note(kind, key, value) : this.record(kind, key, value),
      transaction: around.store.transaction && this.committing(around.store.transaction),
      claim: (entry) => claimOf(run, entry)
    }
  }

  private get isRead(): boolean {
    return this.around.isRead(this.run.runId)
  }

  /** True if the run has replayed all answers and outcomes of earlier executions. */
  get hasComeByAll(): boolean {
    return this.left.size === 0
  }

  receive(event: AgentEvent.AgentEvent): Effect.Effect<void> {
    return Effect.sync(() => {
      if (event.runId !== this.run.runId) return
      if (event._tag === "RunStarted") {
        this.hasStarted = true
        this.ended = undefined
      }
      if (event._tag === "RunFinished") {
        this.isFinished = true
        this.ended = event
      }
      if (event._tag === "RunFinished" && this.over !== undefined && event.outcome !== "success") {
        const { code, error, userMessage } = this.over
        this.last = { ...event, outcome: "failure", code, error, userMessage }
        this.isFinished = false
        return
      }
      if (event._tag === "RunFinished" && event.outcome === "failure") {
        const { code = "execution_error", error = "Error", userMessage = "" } = event
        this.failure = { code, error, userMessage }
      }
      this.unrecorded.add(event)
      if (this.isRead) this.around.notify(pendingOf(this.run.runId))
    })
  }

  /** Emits events between steps, soon after the first of them. */
  get emitting(): Effect.Effect<never> {
    return Effect.scoped(Effect.flatMap(this.around.subscribe(pendingOf(this.run.runId)), (change) => {
      const more = Effect.suspend(() => this.hasMore ? Effect.void : change.next())
      return Effect.forever(Effect.andThen(more, Effect.andThen(Effect.sleep(gathered), this.emit)))
    }))
  }

  private get hasMore(): boolean {
    return this.noted.length > 0 || (this.isRead && this.unrecorded.hasMore)
  }

  /**
   * Emits the events that no step has carried yet to the run's readers. The end of the run waits for it, because the
   * end is the last step.
   */
  private get emit(): Effect.Effect<void> {
    return Effect.uninterruptible(Effect.suspend(() => {
      if (!this.hasMore) return Effect.void
      const isReported = this.isRead && this.unrecorded.hasMore
      return this.add(
        isReported ? [this.stepWith("told", String(this.position), null, this.unrecorded.takeEarly())] : []
      )
    }))
  }

  /** The steps that come with the next one, which it takes. */
  takeNoted(): ReadonlyArray<Step> {
    const { noted } = this
    this.noted = []
    return noted
  }

  /** Emits the end of a run whose agent has not done it: it was not started, or failed while it asked a person. */
  finish({ outcome, status }: Pick<Settlement, "outcome" | "status">): void {
    const { clock, ended, run } = this
    const isLeft = status === "failed" && (ended?.outcome === "paused" || ended?.outcome === "interrupted")
    if (status === "waiting" || (this.isFinished && !isLeft)) return
    const { failure = noFailure } = (outcome ?? {}) as { readonly failure?: Failure }
    const finish = finishOf(run, clock.currentTimeMillisUnsafe(), status === "failed" ? failure : undefined)
    this.unrecorded.add(
      this.last ?? (ended === undefined ? finish : { ...finish, usage: ended.usage, transcript: ended.transcript })
    )
  }

  /** The next step: takes the events since the last one. */
  next(kind: string, key: string, value: Schema.Json): Step {
    return this.stepWith(kind, key, value, this.unrecorded.take(this.isRead))
  }

  /** A settlement as it is stored. Call it before the last step is made. */
  settled<A extends Pick<Settlement, "outcome" | "snapshot" | "status">>(settlement: A) {
    return this.forms.settled(settlement, this.ended?.transcript)
  }

  /** The run is settled: readers in this process need not read its conversation. */
  noteSettled(): void {
    const { conversation } = this.forms
    if (conversation.parts > 0) this.around.known.set(this.run.runId, conversation)
  }

  private stepWith(kind: string, key: string, value: Schema.Json, emitted: ReadonlyArray<AgentEvent.AgentEvent>): Step {
    return this.step(kind, key, value, this.forms.events(this.position, value, emitted))
  }

  private step(kind: string, key: string, value: Schema.Json, events: ReadonlyArray<Schema.Json>): Step {
    const { firstEvent } = this
    this.firstEvent += events.length
    return {
      runId: this.run.runId,
      epoch: this.run.epoch,
      startedAt: this.run.startedAt,
      segment: this.run.segment,
      position: this.position++,
      kind,
      key,
      value,
      elapsed: this.journal.elapsedBefore + monotonicMillis(this.clock) - this.started,
      firstEvent,
      events,
      isFollowed: events.length > 0 && this.around.isFollowed(this.run.runId) ? true : undefined
    }
  }

  private record(kind: string, key: string, value: Schema.Json): Effect.Effect<void> {
    const id = `${kind} ${key}`
    return Effect.suspend(() =>
      this.recorded.get(id) ?? outside(`the step ${kind} ${key}`, () => {
        const added = this.recorded.get(id) ?? this.add([this.starting(this.next(kind, key, value))])
        this.recorded.set(id, added)
        return added
      })
    )
  }

  /** A write starts only while its run is not cancelled; a run that is being compensated knows that it is. */
  private starting(step: Step): Step {
    return !this.journal.isCancelled!() && Journal.startsWrite(step.kind)
      ? { ...step, startsWrite: true }
      : step
  }

  private note(kind: string, key: string, value: Schema.Json): Effect.Effect<void> {
    return Effect.sync(() => {
      this.noted.push(this.next(kind, key, value))
      // It is recorded soon if no other step follows.
      this.around.notify(pendingOf(this.run.runId))
    })
  }

  /** A tool's writes, and its entry, in one transaction of the store. */
  private committing(transaction: NonNullable<Store["transaction"]>): NonNullable<Journal.Journal["transaction"]> {
    return (effect, { onFate, recordOf }) =>
      Effect.flatMap(
        Effect.catchIf(
          outside(
            "a call of a tool with `transaction`",
            () =>
              transaction(Effect.provideService(effect, InTransaction, true), {
                onFate,
                // Its events come with the outcome of the call: a rollback leaves no gap in their numbers.
                stepOf: (value) =>
                  Effect.map(recordOf(value), (record) => this.step(record.kind, record.key, record.value, []))
              })
          ),
          (error) => error instanceof RunStoreError,
          ({ reason }) => Effect.fail(new Journal.TransactionFailed({ reason }))
        ),
        (ended) => ended._tag === "Lost" ? this.ending("lost") : Effect.succeed(ended.value)
      )
  }

  /** Ends the caller, also in an uninterruptible region: another process has the run, or it was cancelled. */
  private ending(why: "lost" | "cancelled"): Effect.Effect<never> {
    return Effect.suspend(() => {
      this.execution.leave(why)
      return Effect.interrupt
    })
  }

  /** Hands steps over, at once: no interruption comes between their numbers and the writer, which would miss them. */
  private add(steps: ReadonlyArray<Step>): Effect.Effect<void> {
    const startedAt = monotonicMillis(this.clock)
    const added = this.around.writer.add([...this.takeNoted(), ...steps])
    this.written = added
    return Effect.flatMap(added, (result) => {
      if (result !== "added") return this.ending(result === "denied" ? "cancelled" : "lost")
      this.around.notify(eventsOf(this.run.runId))
      return Metric.update(stepDuration, monotonicMillis(this.clock) - startedAt)
    })
  }
}

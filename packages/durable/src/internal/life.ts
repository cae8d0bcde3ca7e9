/** Life of a run: what one runner does with a run that it holds, until the run ends or waits, or the runner has to leave it. */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Hash from "effect/Hash"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as AgentEvent from "@recourse/core/AgentEvent"
import { type Decision, type Outcome, Resumptions, SnapshotKey } from "@recourse/core/Approval"
import * as Journal from "@recourse/core/Journal"
import type { Failure } from "@recourse/core/Runs"
import { eventsOf } from "./changes.ts"
import type { From, Registered } from "./definition.ts"
import type { Settlement, Step, Store, StoredRun } from "./store.ts"
import { again, type Writer } from "./writer.ts"

/** Why a runner leaves a run. */
export type Leave = "lost" | "stopping" | "cancelled"

/** What lives need. */
export interface Surroundings {
  readonly store: Store
  readonly writer: Writer
  readonly agents: ReadonlyMap<string, Registered>
  /** Something of the run is new in the store. */
  readonly tell: (runId: string) => void
  /** How many holders in a row may record nothing. */
  readonly idleLives: number
}

/** Events that are not kept: parts of what a later event holds as a whole. */
const passing: ReadonlySet<string> = new Set(["TextDelta", "ReasoningDelta", "ToolCallDelta"])

const encodeWhole = Schema.encodeUnknownOption(Schema.toCodecJson(AgentEvent.AgentEvent))

/** The JSON of a value that no schema describes, such as a conversation that is an input; nothing if it has none. */
const asJson = (value: unknown): unknown => {
  try {
    const text = JSON.stringify(value)
    return text === undefined ? undefined : JSON.parse(text)
  } catch {
    return undefined
  }
}

/** An event as JSON. Its input, output or result may be anything: what of it is no JSON is left out, and never the event. */
const encodeEvent = (event: AgentEvent.AgentEvent): Option.Option<unknown> =>
  Option.orElse(encodeWhole(event), () => {
    const told: Record<string, unknown> = { ...event }
    for (const field of ["input", "output", "result"]) {
      if (!Object.hasOwn(told, field)) continue
      const value = asJson(told[field])
      if (value !== undefined) told[field] = value
      else if (field === "result") told[field] = null
      else delete told[field]
    }
    return encodeWhole(told)
  })

/** Who has the key of the store can change any run: a signature adds nothing where the program has no key of its own. */
const noKey = Context.make(SnapshotKey, Redacted.make("@recourse/durable"))

/** That a snapshot goes on once is what the journal is for. */
const resumptions = Context.make(Resumptions, {
  claim: () => Effect.succeed({ isTakenOver: false, end: () => Effect.void })
})

/** A text of 32 characters. */
const hashed = (text: string): string =>
  [0, 1, 2, 3].map((n) => (Hash.string(`${n} ${text}`) >>> 0).toString(16).padStart(8, "0")).join("")

/** The journal of a life, and the steps that it adds. */
class Recorder {
  private readonly run: StoredRun
  private readonly writer: Writer
  private readonly clock: Clock.Clock
  private readonly started: number
  private readonly leave: (why: Leave) => void
  private readonly tell: (runId: string) => void
  private readonly recorded = new Map<string, Deferred.Deferred<void>>()
  private events: Array<Schema.Json> = []
  private position: number
  private firstEvent: number
  readonly journal: Journal.Journal
  failure: Failure | undefined

  constructor(
    run: StoredRun,
    loaded: Effect.Success<ReturnType<Store["load"]>>,
    { tell, writer }: Surroundings,
    clock: Clock.Clock,
    leave: (why: Leave) => void
  ) {
    this.run = run
    this.writer = writer
    this.clock = clock
    this.started = clock.currentTimeMillisUnsafe()
    this.leave = leave
    this.tell = tell
    this.position = loaded.positions
    this.firstEvent = loaded.events
    const earlier = new Map(loaded.steps.map(({ key, kind, value }) => [`${kind} ${key}`, value]))
    this.journal = {
      runId: run.runId,
      isResumed: run.epoch > 1,
      elapsedBefore: loaded.steps.at(-1)?.elapsed ?? 0,
      find: (kind, key) => earlier.get(`${kind} ${key}`),
      record: (kind, key, value) => this.record(kind, key, value),
      claim: (entry) => `${hashed(run.runId)}${entry.slice(0, 32)}`
    }
  }

  hear(event: AgentEvent.AgentEvent): Effect.Effect<void> {
    return Effect.sync(() => {
      if (event.runId !== this.run.runId || passing.has(event._tag)) return
      if (event._tag === "RunFinished" && event.outcome === "failure") {
        const { code = "execution_error", error = "Error", userMessage = "" } = event
        this.failure = { code, error, userMessage }
      }
      const encoded = encodeEvent(event)
      if (Option.isSome(encoded)) this.events.push(encoded.value as Schema.Json)
    })
  }

  /** The next step: takes the events since the last one. */
  next(kind: string, key: string, value: Schema.Json): Step {
    const { events, firstEvent } = this
    this.events = []
    this.firstEvent += events.length
    return {
      runId: this.run.runId,
      epoch: this.run.epoch,
      leg: this.run.leg,
      position: this.position++,
      kind,
      key,
      value,
      elapsed: this.journal.elapsedBefore + this.clock.currentTimeMillisUnsafe() - this.started,
      firstEvent,
      events
    }
  }

  private record(kind: string, key: string, value: Schema.Json): Effect.Effect<void> {
    return Effect.suspend(() => {
      const id = `${kind} ${key}`
      const there = this.recorded.get(id)
      if (there !== undefined) return Deferred.await(there)
      const done = Deferred.makeUnsafe<void>()
      this.recorded.set(id, done)
      return Effect.andThen(this.add(this.next(kind, key, value)), Deferred.succeed(done, undefined))
    })
  }

  private add(step: Step): Effect.Effect<void> {
    return Effect.flatMap(this.writer.add(step), (isAdded) => {
      if (isAdded) {
        this.tell(eventsOf(this.run.runId))
        return Effect.void
      }
      // Somebody else has the run: nothing of it goes on here, also where nothing can be interrupted.
      this.leave("lost")
      return Effect.interrupt
    })
  }
}

/** How a run ended, as it is kept. */
const settlementOf = (
  { definition }: Registered,
  exit: Exit.Exit<Outcome<unknown>, unknown>,
  recorder: Recorder,
  why: Leave | undefined
): Effect.Effect<Omit<Settlement, "last">, never, unknown> => {
  if (Exit.isSuccess(exit)) {
    const ended = exit.value
    return ended._tag === "Paused"
      ? Effect.succeed({
        status: "waiting",
        pending: ended.pending as unknown as Schema.Json,
        snapshot: ended.snapshot as unknown as Schema.Json
      })
      : Effect.matchEager(definition.encodeOutput(ended.output), {
        onFailure: () => failed({ error: "InvalidOutput", code: "invalid_result", userMessage: "" }),
        onSuccess: (output): Omit<Settlement, "last"> => ({ status: "completed", pending: [], outcome: { output } })
      })
  }
  if (why === "cancelled") return Effect.succeed({ status: "cancelled", pending: [] })
  const diverged = exit.cause.reasons.find((reason) =>
    Cause.isDieReason(reason) && reason.defect instanceof Journal.Diverged
  )
  if (diverged !== undefined) {
    return Effect.succeed(
      failed({ error: "Diverged", code: "diverged", userMessage: recorder.failure?.userMessage ?? "" })
    )
  }
  const failure = recorder.failure ?? { error: "Error", code: "execution_error", userMessage: "" }
  const error = exit.cause.reasons.find(Cause.isFailReason)?.error
  return error === undefined
    ? Effect.succeed(failed(failure))
    : Effect.matchEager(definition.encodeError(error), {
      onFailure: () => failed(failure),
      onSuccess: (value) => failed(failure, value)
    })
}

const failed = (failure: Failure, value?: Schema.Json): Omit<Settlement, "last"> => ({
  status: "failed",
  pending: [],
  outcome: { failure: { ...failure, ...(value === undefined ? undefined : { value }) } }
})

/** What a leg goes on from. Decisions about calls that no longer wait are left out. */
const fromOf = (
  { store }: Surroundings,
  { definition }: Registered,
  run: StoredRun
): Effect.Effect<From, unknown, unknown> =>
  run.snapshot === undefined || run.leg === 0
    ? Effect.map(definition.decodeInput(run.input), (input) => ({ input }))
    : Effect.map(store.decisions(run, run.leg), (decisions) => {
      const pending = new Set((run.pending as unknown as ReadonlyArray<Decision>).map(({ callId }) => callId))
      return {
        snapshot: run.snapshot as Schema.Json,
        decisions: (decisions as unknown as ReadonlyArray<Decision>).filter(({ callId }) => pending.has(callId))
      }
    })

/** Lives a run that was claimed. The effect is the whole life; it does not fail. */
export const live = (
  around: Surroundings,
  registered: Registered,
  run: StoredRun,
  onReady: (leave: (why: Leave) => void) => void
): Effect.Effect<void> => {
  let why: Leave | undefined
  let running: Fiber.Fiber<unknown, unknown> | undefined
  const leave = (reason: Leave): void => {
    why ??= reason
    running?.interruptUnsafe()
  }
  onReady(leave)
  const ambient = Context.merge(Context.merge(noKey, registered.context), resumptions)
  const lived = Effect.gen(function*() {
    const { store } = around
    const clock = yield* Clock.Clock
    const loaded = yield* store.load(run.runId, run.leg)
    const recorder = new Recorder(run, loaded, around, clock, leave)
    const idle = run.epoch - 1 - loaded.lastEpoch
    const proceed = run.isCancelled || idle > around.idleLives
      ? Effect.interrupt
      : Effect.flatMap(
        fromOf(around, registered, run),
        (from) => registered.definition.proceed(from, run.runId)
      )
    const fiber = running = yield* Effect.forkChild(
      proceed.pipe(
        Effect.provideService(Journal.CurrentJournal, recorder.journal),
        Effect.provide(AgentEvent.listen((event) => recorder.hear(event)))
      )
    )
    if (why !== undefined) fiber.interruptUnsafe()
    const exit = yield* Fiber.await(fiber)
    if (run.isCancelled) why ??= "cancelled"
    if (idle > around.idleLives) {
      recorder.failure = { error: "RunKeepsStopping", code: "execution_error", userMessage: "" }
    }
    if (why === "lost" || (why === "stopping" && Exit.isFailure(exit))) return
    const settlement = yield* settlementOf(registered, exit, recorder, why)
    const last = recorder.next("end", String(run.leg), settlement.status)
    yield* Effect.retry(store.settle(run, { ...settlement, last }), {
      schedule: again,
      while: () => why === undefined || why === "cancelled"
    })
    around.tell(run.runId)
    around.tell(eventsOf(run.runId))
  })
  // A store that fails here is no outcome of the run: when the lease is over, a runner takes the run again.
  return Effect.provideContext(
    Effect.catchCause(lived, (cause) => Effect.logWarning("A durable run could not go on here", cause)),
    ambient as Context.Context<unknown>
  ) as Effect.Effect<void>
}

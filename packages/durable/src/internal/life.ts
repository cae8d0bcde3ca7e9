/** Life of a run: what one runner does with a run that it holds, until the run ends or waits, or the runner has to leave it. */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import type * as Schema from "effect/Schema"
import * as Tracer from "effect/Tracer"
import * as AgentEvent from "@recourse/core/AgentEvent"
import { type Decision, leftToUndo, type PendingCall, Resumptions } from "@recourse/core/Approval"
import * as Journal from "@recourse/core/Journal"
import { type Failure, logFailure, Owner } from "@recourse/core/Runs"
import { fateOf, overKind, tellLeft } from "./over.ts"
import { dueIn } from "./asking.ts"
import { lending, Parent, type Place, Slot } from "./slot.ts"
import { wakeUp } from "./changes.ts"
import {
  type Conversation,
  inputFromStored,
  namesConversation,
  noConversation,
  readConversation,
  snapshotFromStored
} from "./conversation.ts"
import { needsRunner } from "./ended.ts"
import { countEnded, countLost, countTakenOver } from "./counting.ts"
import { type From, inputOf, noKey, type Registered } from "./definition.ts"
import { type Leave, Recorder, type Surroundings } from "./recorder.ts"
import type { Taken } from "./versions.ts"
import type { Loaded, RunStoreError, StoredRun } from "./store.ts"
import { endedAs, settlementOf } from "./settlement.ts"
import { spanOf } from "./trace.ts"
import { again } from "./writer.ts"

/** How long events are gathered before those hear of them who read the run. */
const gathered = "100 millis"

/**
 * A run that only comes by what it has done is ended so long after it has come by all answers and outcomes that there are. Where it does not come by some, as its
 * program is another one today, it is ended when it has come by nothing for so long, four times in a row.
 */
const still = "50 millis"

/** That a snapshot goes on once is what the journal is for. */
const resumptions = Context.make(Resumptions, {
  claim: () => Effect.succeed({ isTakenOver: false, end: () => Effect.void })
})

const nothing: Loaded = { steps: [], positions: 0, events: 0, lastEpoch: 0, decisions: [] }

/** What a leg goes on from. Decisions about calls that no longer wait are left out. */
const fromOf = (
  { definition }: Registered,
  run: StoredRun,
  decisions: ReadonlyArray<Schema.Json>
): Effect.Effect<From, unknown, unknown> => {
  if (!goesOn(run)) return Effect.map(inputOf(definition, run.input), (input) => ({ input }))
  const pending = new Set((run.pending as unknown as ReadonlyArray<Decision>).map(({ callId }) => callId))
  return Effect.succeed({
    snapshot: run.snapshot as Schema.Json,
    decisions: (decisions as unknown as ReadonlyArray<Decision>).filter(({ callId }) => pending.has(callId))
  })
}

/** Whether the agent takes a decision. */
const fitting = ({ definition }: Registered, { snapshot }: StoredRun) => (decision: Schema.Json) =>
  Effect.isSuccess(definition.check(snapshot, [decision as unknown as Decision]))

/** The place of a run: of its process, and in the queue of its agent. A store that fails is asked again, until the life is over. */
const placeOf = (
  { heard, places, store }: Surroundings,
  { definition: { queue } }: Registered,
  run: StoredRun
): Place & { readonly end: () => void } => {
  const place = places.place()
  const concurrency = queue?.concurrency
  if (concurrency === undefined) return place
  let isOver = false
  const until = (done: Effect.Effect<boolean, RunStoreError>): Effect.Effect<void> =>
    Effect.flatMap(
      Effect.catchCause(done, (cause) => Cause.hasInterrupts(cause) ? Effect.interrupt : Effect.succeed(false)),
      (isDone) =>
        isDone || isOver
          ? Effect.void
          : Effect.andThen(Effect.raceFirst(heard(wakeUp), Effect.sleep("500 millis")), until(done))
    )
  return {
    give: Effect.andThen(place.give, until(Effect.as(store.settle(run, { status: "lent" }), true))),
    take: Effect.andThen(
      until(Effect.map(
        store.take({ held: [{ runId: run.runId, epoch: run.epoch, place: concurrency }] }),
        ({ held: [kept] }) => kept?.hasPlace === true
      )),
      place.take
    ),
    end: () => {
      isOver = true
      place.end()
    }
  }
}

/** Whether a leg goes on from a snapshot. */
const goesOn = (run: StoredRun): boolean => run.snapshot !== undefined && run.leg > 0

/** A run with its whole input and snapshot, and its conversation. */
const wholeRun = (
  { known, store }: Surroundings,
  run: StoredRun
): Effect.Effect<{ readonly run: StoredRun; readonly conversation: Conversation }, RunStoreError> =>
  // Another process may have added parts since it waited.
  Effect.map(
    run.leg > 0
      ? readConversation(store, run.runId)
      : namesConversation(run.input)
      ? known.read(store, run.runId, 1)
      : Effect.succeed(noConversation),
    (conversation) => ({
      conversation,
      run: {
        ...run,
        input: inputFromStored(run.input, conversation),
        snapshot: run.snapshot && snapshotFromStored(run.snapshot, conversation)
      }
    })
  )

/** Logs that a run has failed. One that the engine has ended, because its process died again and again or its program changed, needs a person. */
const logFailed = (
  run: StoredRun,
  exit: Exit.Exit<unknown, unknown>,
  over: Failure | undefined
): Effect.Effect<void> => {
  if (Exit.isFailure(exit) && !Cause.hasInterruptsOnly(exit.cause)) return logFailure(run, exit.cause)
  const error = over?.error ?? "InvalidOutput"
  const log = Effect.logError(`Run ${run.runId} of agent "${run.agent}" ended with ${error}`)
  return Effect.annotateLogs(log, { agent: run.agent, run_id: run.runId, error })
}

/** Lives a run that was claimed. The effect is the whole life; it does not fail. */
// oxlint-disable-next-line max-lines-per-function -- one life of a run: its steps share the claim, the journal and the log
export const live = (
  around: Surroundings,
  taken: Taken,
  stored: StoredRun,
  onReady: (leave: (why: Leave) => void) => void
): Effect.Effect<void> => {
  const { registered } = taken
  let why: Leave | undefined
  let over: Failure | undefined
  let running: Fiber.Fiber<unknown, unknown> | undefined
  /** What cancels a run that takes what it has done from its journal: it is ended when it has come by that. */
  let cancel: (() => void) | undefined
  const isCancelled = () =>
    over !== undefined || (why ?? (stored.isCancelled ? "cancelled" : undefined)) === "cancelled"
  const leave = (reason: Leave): void => {
    why ??= reason
    if (reason === "cancelled" && cancel !== undefined) cancel()
    else running?.interruptUnsafe()
  }
  onReady(leave)
  const place = placeOf(around, registered, stored)
  const ambient = Context.merge(Context.merge(noKey, registered.context), resumptions)
  // oxlint-disable-next-line max-lines-per-function -- one life of a run: its steps share the claim, the journal and the log
  const lived = Effect.gen(function*() {
    const { store } = around
    const clock = yield* Clock.Clock
    const { conversation, run } = yield* wholeRun(around, stored)
    // The first holder of a run finds nothing.
    const loaded = run.epoch === 1 ? nothing : yield* store.load(run)
    const idle = run.epoch - 1 - loaded.lastEpoch
    const fate = fateOf(taken, run, loaded, idle)
    over = fate.over
    const recorder = new Recorder(run, loaded, around, clock, {
      conversation,
      over,
      leave,
      isCancelled,
      // A read may be what ends its process again and again: then the answer before it is not asked for each time.
      mayNote: idle === 0
    })
    if (idle > 0 || loaded.steps.length > 0) yield* countTakenOver({ agent: run.agent })
    if (fate.isNew && (yield* around.writer.add([recorder.next(overKind, over!.error, null)])) === "lost") return
    // What the agent refuses does not keep a run that is over from being undone.
    const decisions = isCancelled()
      ? yield* Effect.filter(loaded.decisions, fitting(registered, run))
      : loaded.decisions
    const proceed = fate.proceeds
      ? Effect.flatMap(fromOf(registered, run, decisions), (from) => registered.definition.proceed(from, run.runId))
      : Effect.interrupt
    let hasUndone = false
    const fork = Effect.runForkWith(yield* Effect.context<never>())
    const fiber = running = yield* Effect.forkChild(
      proceed.pipe(
        Effect.provideService(Journal.CurrentJournal, recorder.journal),
        Effect.provideService(Slot, lending(place, (effect) => void fork(effect))),
        Effect.provideService(Parent, run.runId),
        Effect.provideService(Tracer.ParentSpan, spanOf(run)),
        Effect.provide(AgentEvent.listen((event) => {
          hasUndone ||= event._tag === "ToolCompensated"
          return recorder.hear(event)
        })),
        Effect.provideService(AgentEvent.Details, true),
        Effect.provideService(Owner, run.owner)
      )
    )
    const telling = yield* Effect.forkChild(
      Effect.forever(
        Effect.andThen(recorder.more(around), Effect.andThen(Effect.sleep(gathered), recorder.telling))
      )
    )
    const ending = !isCancelled() && loaded.steps.length === 0
      ? undefined
      : yield* Effect.forkChild(
        Effect.gen(function*() {
          const cancelled = yield* Deferred.make<void>()
          cancel = () => Deferred.doneUnsafe(cancelled, Effect.void)
          if (!isCancelled()) yield* Deferred.await(cancelled)
          // What it goes on from may be long on its way: one that is interrupted before undoes nothing.
          while (!recorder.hasBegun) yield* Effect.sleep(still)
          for (let found = -1, quiet = 0; quiet < (recorder.hasComeByAll ? 1 : 4);) {
            quiet = recorder.found === found ? quiet + 1 : 0
            found = recorder.found
            yield* Effect.sleep(still)
          }
          why ??= "cancelled"
          fiber.interruptUnsafe()
        }),
        { startImmediately: true }
      )
    if (why !== undefined) leave(why)
    const exited = yield* Fiber.await(fiber)
    if (ending !== undefined) yield* Fiber.interrupt(ending)
    yield* Fiber.interrupt(telling)
    if (run.isCancelled) why ??= "cancelled"
    if (why === "lost") yield* countLost({ agent: run.agent })
    const exit = why === "cancelled" ? endedAs(exited, recorder) : exited
    if (why === "lost" || (why === "stopping" && Exit.isFailure(exit))) return
    if (why === "cancelled" && Exit.isFailure(exit) && recorder.ended?.outcome === "paused") {
      // It waits, and its snapshot is lost: another life comes by what it has done.
      yield* store.settle(run, { status: "queued" })
      return
    }
    const isRefused = why === undefined && over === undefined && !recorder.hasBegun && Exit.isFailure(exit)
    if (isRefused && needsRunner(run, loaded.steps.length > 0)) {
      // The agent of today does not go on with it: another life undoes what it has done, or says that it cannot.
      const { outcome } = yield* settlementOf(registered, exit, recorder, why, over)
      const { failure } = outcome as { readonly failure: Failure & Schema.JsonObject }
      const added = yield* around.writer.add([recorder.next(overKind, failure.error, failure)])
      if (added !== "lost") yield* store.settle(run, { status: "queued" })
      return
    }
    if (!hasUndone && (over !== undefined || !fate.proceeds || (why === "cancelled" && !recorder.hasBegun))) {
      const left = leftToUndo({ snapshot: run.snapshot, journal: recorder.journal })
      const because = fate.proceeds ? "no_tool" : "failed"
      yield* tellLeft(run, left, clock.currentTimeMillisUnsafe(), because, (event) => recorder.hear(event))
    }
    yield* recorder.written
    const settlement = yield* settlementOf(registered, exit, recorder, why, over)
    recorder.finish(settlement)
    const settled = yield* recorder.settled(settlement)
    const before = recorder.takeNoted()
    const last = recorder.next("end", String(run.leg), settlement.status)
    const asking = settlement.status === "waiting" ? registered.definition.asking : undefined
    const wakeInMillis = asking &&
      dueIn(asking, settlement.pending as unknown as ReadonlyArray<PendingCall>, 0, clock.currentTimeMillisUnsafe())
    const isSettled = yield* Effect.retry(store.settle(run, { ...settled, wakeInMillis, before, last }), {
      schedule: again,
      while: () => why === undefined || why === "cancelled"
    })
    if (isSettled) recorder.noteSettled()
    if (asking !== undefined) around.tell(wakeUp)
    if (settlement.status !== "waiting") yield* countEnded({ agent: run.agent, status: settlement.status })
    if (settlement.status === "failed") yield* logFailed(run, exit, over)
  })
  // A store that fails here is no outcome of the run: when the lease is over, a runner takes the run again.
  return Effect.provideContext(
    Effect.ensuring(
      Effect.catchCause(lived, (cause) => Effect.logWarning("A durable run could not go on here", cause)),
      Effect.sync(place.end)
    ),
    ambient as Context.Context<unknown>
  ) as Effect.Effect<void>
}

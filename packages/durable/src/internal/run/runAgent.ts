/** Runs the agent of an execution, and emits and records its work, until it stops by itself or is asked to. */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Tracer from "effect/Tracer"
import * as AgentEvent from "@recourse/core/AgentEvent"
import type { Outcome } from "@recourse/core/Approval"
import * as Journal from "@recourse/core/Journal"
import { CurrentRunInbox } from "@recourse/core/RunInbox"
import { Owner } from "@recourse/core/Runs"
import type { Execution } from "./execution.ts"
import { type Prepared, proceedingOf } from "./prepareExecution.ts"
import type { Recorder } from "./recorder.ts"
import { lending, Parent, type Place, Slot } from "../queue/slot.ts"
import { spanOf } from "./trace.ts"

/**
 * A run that only replays is ended this long after it has replayed all existing answers and outcomes. If it does not
 * replay some, because its program is another one today, it is ended after no replay for so long, four times in a row.
 */
const still = "50 millis"

/** End of an agent. */
export interface Stopped {
  readonly exit: Exit.Exit<Outcome<unknown>, unknown>
  readonly hasCompensated: boolean
}

/** Waits until a replay has replayed its entries, after it was asked to end. */
const drained = Effect.fnUntraced(function*(recorder: Recorder, isToEnd: Deferred.Deferred<void>) {
  yield* Deferred.await(isToEnd)
  // Its snapshot may take long to read: a run that is interrupted before compensates no write.
  while (!recorder.hasStarted) yield* Effect.sleep(still)
  for (let found = -1, quiet = 0; quiet < (recorder.hasComeByAll ? 1 : 4);) {
    quiet = recorder.found === found ? quiet + 1 : 0
    found = recorder.found
    yield* Effect.sleep(still)
  }
})

/** Runs the agent. */
export const runAgent = Effect.fnUntraced(function*(
  prepared: Prepared,
  execution: Execution,
  place: Place
): Effect.fn.Return<Stopped, never, unknown> {
  const { loaded, recorder, run } = prepared
  let hasCompensated = false
  const fork = Effect.runForkWith(yield* Effect.context<never>())
  const fiber: Fiber.Fiber<Outcome<unknown>, unknown> = yield* Effect.forkChild(
    proceedingOf(prepared).pipe(
      Effect.provideService(Journal.CurrentJournal, recorder.journal),
      Effect.provideService(Slot, lending(place, (effect) => void fork(effect))),
      Effect.provideService(Parent, {
        runId: run.runId,
        stop: Effect.suspend(() =>
          execution.foundCancelled() ? Effect.interruptible(Effect.asVoid(Fiber.await(fiber))) : Effect.void
        )
      }),
      Effect.provideService(Tracer.ParentSpan, spanOf(run)),
      Effect.provide(AgentEvent.listen((event) => {
        hasCompensated ||= event._tag === "ToolCompensated"
        return recorder.receive(event)
      })),
      Effect.provideService(AgentEvent.Details, true),
      Effect.provideService(Owner, run.owner),
      Effect.provideService(CurrentRunInbox, prepared.inbox)
    )
  )
  const emitting = yield* Effect.forkChild(recorder.emitting)
  const isToEnd = yield* Deferred.make<void>()
  const hasLog = execution.isCancelled || loaded.steps.length > 0
  const draining = hasLog
    ? yield* Effect.forkChild(
      Effect.andThen(drained(recorder, isToEnd), Effect.sync(() => execution.drained())),
      { startImmediately: true }
    )
    : undefined
  execution.begin(hasLog, () => Deferred.doneUnsafe(isToEnd, Effect.void), () => fiber.interruptUnsafe())
  if (recorder.hasComeByAll) execution.on("meet")
  const exit = yield* Fiber.await(fiber)
  execution.on("stop")
  if (draining !== undefined) yield* Fiber.interrupt(draining)
  yield* Fiber.interrupt(emitting)
  return { exit, hasCompensated }
})

/** Executes a run that its process has taken, until the run ends or waits, or the process has to leave it. */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { Resumptions } from "@recourse/core/Approval"
import { type Subscription, wakeUp } from "./changes.ts"
import { noKey, type Registered } from "../agent/definition.ts"
import type { Execution } from "./execution.ts"
import { prepareExecution } from "./prepareExecution.ts"
import type { Surroundings } from "./recorder.ts"
import { runAgent } from "./runAgent.ts"
import { settleExecution } from "./settleExecution.ts"
import type { Place } from "../queue/slot.ts"
import type { RunStoreError, StoredRun } from "../store/store.ts"
import type { Taken } from "../agent/versions.ts"

/** The journal ensures that a snapshot is resumed once. */
const resumptions = Context.make(Resumptions, {
  claim: () => Effect.succeed({ isTakenOver: false, end: () => Effect.void })
})

/**
 * The slot of a run: in its process, and in the queue of its agent. A failing store is called again, until the
 * execution has ended.
 */
const placeOf = (
  { places, store, subscribe }: Surroundings,
  { definition: { queue } }: Registered,
  run: StoredRun
): Place & { readonly end: () => void } => {
  const place = places.place()
  const concurrency = queue?.concurrency
  if (concurrency === undefined) return place
  let isOver = false
  const until = (done: Effect.Effect<boolean, RunStoreError>): Effect.Effect<void> => {
    const isDone = Effect.catchCause(
      done,
      (cause) => Cause.hasInterrupts(cause) ? Effect.interrupt : Effect.succeed(false)
    )
    const again = (change: Subscription): Effect.Effect<void> =>
      Effect.flatMap(
        isDone,
        (isDone) => isDone || isOver ? Effect.void : Effect.andThen(change.next("500 millis"), again(change))
      )
    return Effect.scoped(Effect.flatMap(subscribe(wakeUp), again))
  }
  return {
    give: Effect.andThen(place.give, until(Effect.as(store.settle(run, { status: "lent" }), true))),
    take: Effect.andThen(
      until(Effect.map(
        store.take({
          leases: [{ runId: run.runId, epoch: run.epoch, startedAt: run.startedAt, place: concurrency }]
        }),
        ({ leases: [leased] }) => leased?.hasPlace === true
      )),
      place.take
    ),
    end: () => {
      isOver = true
      place.end()
    }
  }
}

/** Executes a run. The effect is the whole execution; it does not fail. */
export const execute = (
  around: Surroundings,
  taken: Taken,
  stored: StoredRun,
  execution: Execution
): Effect.Effect<void> => {
  const { registered } = taken
  const place = placeOf(around, registered, stored)
  const whole = Effect.gen(function*() {
    const prepared = yield* prepareExecution(around, taken, stored, execution)
    if (prepared === undefined) return
    yield* settleExecution(around, prepared, execution, yield* runAgent(prepared, execution, place))
  })
  // A store that fails here is no outcome of the run: when the lease is over, a process takes the run again.
  return Effect.provideContext(
    Effect.ensuring(
      Effect.catchCause(whole, (cause) => Effect.logWarning("A durable run could not be executed here", cause)),
      Effect.sync(() => {
        execution.on("leave")
        place.end()
      })
    ),
    Context.merge(Context.merge(noKey, registered.context), resumptions) as Context.Context<unknown>
  ) as Effect.Effect<void>
}

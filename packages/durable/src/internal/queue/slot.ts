/** Slot: the place among the runs of a process, and in the queue of its agent, that a run gives away while it waits for another one. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Semaphore from "effect/Semaphore"

/** A slot among the concurrent runs. */
export interface SlotOf {
  /** Waits for something, and gives the place to others meanwhile. */
  readonly lent: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
}

/** The slot of the run that is executed here, if there is one. */
export const Slot: Context.Reference<SlotOf> = Context.Reference<SlotOf>("@recourse/durable/Slot", {
  defaultValue: () => ({ lent: (effect) => effect })
})

/** A run that starts others. */
export interface StartingRun {
  readonly runId: string
  /** Interrupts its work, which has found it cancelled; no effect while it compensates its writes. */
  readonly stop: Effect.Effect<void>
}

/** The run that starts others, if one does. */
export const Parent: Context.Reference<StartingRun | undefined> = Context.Reference<StartingRun | undefined>(
  "@recourse/durable/Parent",
  { defaultValue: () => undefined }
)

/** A place that can be given away, and taken back when one is free. */
export interface Place {
  readonly give: Effect.Effect<void>
  readonly take: Effect.Effect<void>
}

/** A run has one place, whatever number of others it waits for: it is given away with the first wait, and taken back behind the last. */
export const lending = ({ give, take }: Place, fork: (effect: Effect.Effect<void>) => void): SlotOf => {
  const one = Semaphore.makeUnsafe(1)
  let waits = 0
  let isLent = false
  const settle = one.withPermit(Effect.suspend(() => {
    if (isLent === waits > 0) return Effect.void
    return isLent
      ? Effect.andThen(take, Effect.sync(() => void (isLent = false)))
      : Effect.andThen(Effect.sync(() => void (isLent = true)), give)
  }))
  return {
    lent: (effect) => {
      const waiting = Effect.acquireUseRelease(
        Effect.sync(() => void waits++),
        () => Effect.andThen(settle, effect),
        () => Effect.sync(() => void waits--)
      )
      return Effect.flatMap(
        // A caller that stops waiting, for example at a timeout, does not wait for a slot either.
        Effect.onInterrupt(Effect.exit(waiting), () => Effect.sync(() => fork(settle))),
        (exit) => Effect.andThen(settle, exit)
      )
    }
  }
}

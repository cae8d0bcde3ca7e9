/** Slot: the place among the runs of a process that a run gives away while it waits for another one. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"

/** A place among the runs that go on at once. */
export interface SlotOf {
  /** Waits for something, and gives the place to others meanwhile. */
  readonly lent: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
}

/** The place of the run that goes on here, if one does. */
export const Slot: Context.Reference<SlotOf> = Context.Reference<SlotOf>("@recourse/durable/Slot", {
  defaultValue: () => ({ lent: (effect) => effect })
})

/** The run that starts others, if one does. */
export const Parent: Context.Reference<string | undefined> = Context.Reference<string | undefined>(
  "@recourse/durable/Parent",
  { defaultValue: () => undefined }
)

/** A place that counts how many have given theirs away. */
export const lending = (lent: { count: number }, onLent: () => void): SlotOf => ({
  lent: (effect) =>
    Effect.acquireUseRelease(
      Effect.sync(() => {
        lent.count++
        onLent()
      }),
      () => effect,
      () => Effect.sync(() => void lent.count--)
    )
})

/** Sequence of effects of which the first may fail. */
import * as Effect from "effect/Effect"

/** One effect behind another, also if that fails: the failure comes last. For uninterruptible effects. */
export const behind = <A, E, R, E2, R2>(
  first: Effect.Effect<void, E2, R2>,
  next: () => Effect.Effect<A, E, R>
): Effect.Effect<A, E | E2, R | R2> =>
  first === Effect.void ? next() : Effect.matchCauseEffect(first, {
    onFailure: (cause) => Effect.andThen(next(), Effect.failCause(cause)),
    onSuccess: next
  })

/** Effects that have a value already, and that need not be run. */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"

/** One effect behind another, also if that fails: the failure comes last. For uninterruptible effects. */
export const behind = <A, E, R, E2, R2>(
  first: Effect.Effect<void, E2, R2>,
  next: () => Effect.Effect<A, E, R>
): Effect.Effect<A, E | E2, R | R2> =>
  first === Effect.void ? next() : Effect.matchCauseEffect(first, {
    onFailure: (cause) => Effect.andThen(next(), Effect.failCause(cause)),
    onSuccess: next
  })

/** The exit of an effect that has a value already: one that need not be run, and no step that follows it either. */
export const valueOf = <A, E, R>(effect: Effect.Effect<A, E, R>): Exit.Success<A, E> | undefined =>
  Exit.isExit(effect) && Exit.isSuccess(effect) ? effect as Exit.Success<A, E> : undefined

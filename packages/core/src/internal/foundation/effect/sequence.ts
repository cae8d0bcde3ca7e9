/** Sequencing: `behind` and `after` skip an effect that is `Effect.void`, so that it has no cost. */
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

/** Runs an effect at any end of another one; often it is empty too. */
export const after = <A, E, R, R2>(
  effect: Effect.Effect<A, E, R>,
  onExit: (exit: Exit.Exit<A, E>) => Effect.Effect<void, never, R2>
): Effect.Effect<A, E, R | R2> =>
  Effect.onExitPrimitive(effect, (exit) => {
    const last = onExit(exit)
    return last === Effect.void ? undefined : last
  })

/** Duration and exit of a recorded effect. */
import { Cause, Clock, Effect, type Exit, Option } from "effect"

/** Measures an effect and reports its exit, however it ends. */
export const timed = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
  ended: (exit: Exit.Exit<A, E>, duration: number) => Effect.Effect<void>
): Effect.Effect<A, E, R> =>
  Effect.flatMap(
    Clock.currentTimeMillis,
    (start) =>
      Effect.onExit(effect, (exit) => Effect.flatMap(Clock.currentTimeMillis, (end) => ended(exit, end - start)))
  )

/** The typed error of a cause, if it has one. */
export const failureOf = (cause: Cause.Cause<unknown>): Option.Option<unknown> =>
  Option.fromUndefinedOr(cause.reasons.find(Cause.isFailReason)).pipe(Option.map(({ error }) => error))

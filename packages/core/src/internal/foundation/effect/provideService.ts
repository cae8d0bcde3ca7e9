/** Provides a service to an effect without building functions, for places that run in every call. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"

/** `Effect.provideService`, which makes functions for its several shapes whenever it is called, with one shape. */
export const provide = <A, E, R, I, S>(
  effect: Effect.Effect<A, E, R>,
  service: Context.Key<I, S>,
  value: S
): Effect.Effect<A, E, Exclude<R, I>> =>
  Effect.updateContext(
    effect,
    (context: Context.Context<Exclude<R, I>>) => Context.add(context, service, value) as Context.Context<R>
  )

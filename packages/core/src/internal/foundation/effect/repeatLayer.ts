/** Layers that repeat an effect while they live. */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { aTimeLimit, durationOf } from "../options/optionCheck.ts"

/**
 * Runs a purge at start and then after each `every` (default: 1 hour). Deletions are debug output, failures a warning. Throws
 * `ConfigurationError` for a time that is none.
 */
export const layerRepeatedly = <R>(
  subject: string,
  purge: Effect.Effect<number, unknown, R>,
  every: Duration.Input | undefined
): Layer.Layer<never, never, R> => {
  const pause = durationOf(subject, "every", every, "1 hour", aTimeLimit)
  return Layer.effectDiscard(
    purge.pipe(
      Effect.tap((count) => Effect.logDebug(`${subject}: ${count} expired entries deleted`)),
      Effect.catchCause((cause) => Effect.logWarning(`${subject}: expired entries could not be deleted`, cause)),
      Effect.andThen(Effect.sleep(pause)),
      Effect.forever,
      Effect.forkScoped
    )
  ) as Layer.Layer<never, never, R>
}

/** Time limits that hold where nothing can be interrupted: in finalizers, and around uninterruptible effects. */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"

/**
 * Runs an effect in a fiber of its own and waits for it, at most for `limit`; then it is told to end, and `orElse` is the
 * answer. `Effect.timeout` waits for an effect that does not let itself be interrupted; this does not.
 */
export const answerWithin = <A, E, E2>(
  effect: Effect.Effect<A, E>,
  limit: Duration.Duration,
  orElse: () => Effect.Effect<A, E2>
): Effect.Effect<A, E | E2> =>
  Effect.flatMap(
    Effect.forkDetach(Effect.interruptible(effect), { startImmediately: true }),
    (answer): Effect.Effect<A, E | E2> => {
      const exit = answer.pollUnsafe()
      if (exit !== undefined) return exit
      return Effect.flatMap(Effect.forkDetach(Effect.interruptible(Effect.sleep(limit))), (timer) =>
        Effect.callback<A, E | E2>((resume) => {
          timer.addObserver((exit) => {
            if (Exit.isFailure(exit)) {
              return
            }
            resume(Effect.suspend(orElse))
            answer.interruptUnsafe()
          })
          answer.addObserver((exit) => {
            resume(exit)
            timer.interruptUnsafe()
          })
          return Effect.sync(() => {
            timer.interruptUnsafe()
            answer.interruptUnsafe()
          })
        }))
    }
  )

/** Time limits in uninterruptible regions: in finalizers, and around uninterruptible effects. */
import type * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"

/**
 * Runs an effect in a fiber of its own and waits for it, at most for `limit`; then it interrupts it, and `orElse` is
 * the answer. `Effect.timeout` waits for an effect that ignores its interruption; this does not.
 */
export const answerWithin = <A, E, E2>(
  effect: Effect.Effect<A, E>,
  limit: Duration.Duration,
  orElse: () => Effect.Effect<A, E2>
): Effect.Effect<A, E | E2> =>
  Effect.contextWith((context: Context.Context<never>) =>
    // Both fibers begin in one step: an interruption between two would leave one behind.
    Effect.callback<A, E | E2>((resume) => {
      const run = Effect.runForkWith(context)
      const answer = run(effect)
      const exit = answer.pollUnsafe()
      if (exit !== undefined) return resume(exit)
      const timer = run(Effect.sleep(limit))
      timer.addObserver((exit) => {
        if (Exit.isFailure(exit)) return
        resume(Effect.suspend(orElse))
        answer.interruptUnsafe()
      })
      answer.addObserver((exit) => {
        timer.interruptUnsafe()
        // The timer ends before the waiting fiber continues, so that no fiber outlives the answer.
        resume(Effect.andThen(Fiber.await(timer), exit))
      })
      return Effect.sync(() => {
        timer.interruptUnsafe()
        answer.interruptUnsafe()
      })
    })
  )

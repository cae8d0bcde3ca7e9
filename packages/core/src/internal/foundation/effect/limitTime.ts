/**
 * Time limit of an effect, like `Effect.timeoutOrElse`, for waits that nearly always end in time. With the default
 * clock the limit is a timer of the platform and not a sleeping fiber, at a third of the cost.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import { atFirstUse } from "../lazyValue.ts"

const defaultClock = atFirstUse(() => Context.get(Context.empty(), Clock.Clock))

/** The longest delay of a timer of the platform; a longer one ends at once. */
const longestTimer = 2 ** 31 - 1

/** Calls back after so many milliseconds by the clock. Returns the function that cancels it. */
const after = (
  context: Context.Context<never>,
  clock: Clock.Clock,
  millis: number,
  onEnd: () => void
): () => void => {
  if (clock === defaultClock() && millis <= longestTimer) {
    const timer = setTimeout(onEnd, millis)
    return () => clearTimeout(timer)
  }
  const sleeper = Effect.runForkWith(context)(clock.sleep(Duration.millis(millis)))
  sleeper.addObserver((exit) => {
    if (Exit.isSuccess(exit)) onEnd()
  })
  return () => sleeper.interruptUnsafe()
}

/** Interrupts an effect that has not ended after so many milliseconds, waits until it has ended, and continues with `orElse`. */
export const limitTime = <A, E, R, E2>(
  effect: Effect.Effect<A, E, R>,
  millis: number,
  orElse: () => Effect.Effect<A, E2>
): Effect.Effect<A, E | E2, R> =>
  Effect.contextWith((context: Context.Context<R>) =>
    Effect.callback<A, E | E2>((resume) => {
      const running = Effect.runForkWith(context)(effect)
      const exit = running.pollUnsafe()
      if (exit !== undefined) return resume(exit)
      const callOff = after(
        context,
        Context.get(context, Clock.Clock),
        millis,
        () => resume(Effect.andThen(Fiber.interrupt(running), Effect.suspend(orElse)))
      )
      running.addObserver((exit) => {
        callOff()
        resume(exit)
      })
      return Effect.suspend(() => {
        callOff()
        return Fiber.interrupt(running)
      })
    })
  )

/** Deadline of a run: interrupts the run when its time is used up. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { Account } from "../run/account.ts"

/** Interrupts the run at its deadline; calls `onBudgetExceeded` first, if there is one. */
export const withDeadline = <A, E, R>(effect: Effect.Effect<A, E, R>, account: Account): Effect.Effect<A, E, R> => {
  const timer = Effect.flatMap(Clock.currentTimeMillis, (now) => {
    const start = now - account.elapsedBefore
    const wait: Effect.Effect<never> = Effect.flatMap(Clock.currentTimeMillis, (now) => {
      const elapsed = now - start
      const left = (account.duration ?? 0) - elapsed
      return Effect.flatMap(left > 0 ? Effect.sleep(left) : account.outOfTime(elapsed), () => wait)
    })
    return wait
  })
  return Effect.raceFirst(effect, timer)
}

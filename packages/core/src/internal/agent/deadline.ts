/** Deadline of a run: interrupts the run when its time is used up. */
import * as Effect from "effect/Effect"
import type { Account } from "../run/account.ts"

/** Interrupts the run at its deadline; calls `onBudgetExceeded` first, if there is one. */
export const withDeadline = <A, E, R>(effect: Effect.Effect<A, E, R>, account: Account): Effect.Effect<A, E, R> => {
  const timer: Effect.Effect<never> = Effect.suspend(() => {
    const { ran } = account
    const left = (account.limits.duration ?? 0) - ran
    return Effect.flatMap(left > 0 ? Effect.sleep(left) : account.outOfTime(ran), () => timer)
  })
  return Effect.raceFirst(effect, timer)
}

/** Monotonic time of this process: durations are measured by it, because the wall clock of a machine may be set. */
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

/** @internal Milliseconds since an arbitrary moment. */
export const monotonicMillis = (clock: Clock.Clock): number => Number(clock.monotonicTimeNanosUnsafe() / 1000n) / 1000

/**
 * Makes a clock that the wall clock sets at its first reading only: for leases and times of a store in memory, whose
 * claims no set clock ends.
 */
export const steadyClock = (): Effect.Effect<number> => {
  let start: number | undefined
  return Effect.clockWith((clock) =>
    Effect.sync(() => {
      const monotonic = monotonicMillis(clock)
      start ??= clock.currentTimeMillisUnsafe() - monotonic
      return Math.round(start + monotonic)
    })
  )
}

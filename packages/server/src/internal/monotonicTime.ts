/** Monotonic time of this process: durations are measured by it, because the wall clock of a machine may be set. */
import type * as Clock from "effect/Clock"

/** Milliseconds since an arbitrary moment. */
export const monotonicMillis = (clock: Clock.Clock): number => Number(clock.monotonicTimeNanosUnsafe() / 1000n) / 1000

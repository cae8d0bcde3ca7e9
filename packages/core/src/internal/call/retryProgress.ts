/** Progress of a retry: its repetitions of a call, and the state of its schedule. */
import type * as Effect from "effect/Effect"
import type * as Schedule from "effect/Schedule"

/** Progress of a retry in a call, over all passes of the call. */
export interface RetryProgress {
  times: number
  /** Attempts of the call before the one that follows its last repetition. */
  from: number
  step: Effect.Success<ReturnType<typeof Schedule.toStep<unknown, unknown, never, never>>> | undefined
}

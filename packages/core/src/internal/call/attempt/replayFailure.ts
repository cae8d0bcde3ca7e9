/** Step of an attempt: fails as the attempt failed in an earlier execution of the run. The failure is neither charged nor announced. */
import * as Effect from "effect/Effect"
import { numberOf } from "../attemptLog.ts"
import { failedBefore } from "../replay/replayedFailures.ts"
import { matchAttempt, startsOf } from "../replay/attemptedCall.ts"
import type { Step } from "./attemptState.ts"

export const replayFailure: Step = (next) => (attempt) => {
  const { call, run } = attempt
  if (run?.journal === undefined) return next(attempt)
  const replayed = failedBefore(run, attempt.attempted)
  return replayed === undefined ? next(attempt) : Effect.matchEffect(replayed, {
    onFailure: (error) => {
      // The earlier execution may have started one more attempt, which the recovery of today may not make.
      attempt.number = numberOf(call.record) + 1
      if (startsOf(run, attempt.attempted).length === 0) matchAttempt(run, attempt.attempted)
      return Effect.fail(error)
    },
    // The tool of today cannot decode the error: the attempt is made again.
    onSuccess: () => next(attempt)
  })
}

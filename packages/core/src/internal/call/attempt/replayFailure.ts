/** Step of an attempt: fails as the attempt failed in an earlier execution of the run. The failure is neither charged nor announced. */
import * as Effect from "effect/Effect"
import { numberOf } from "../attemptLog.ts"
import { failedBefore, hasFailedBefore } from "../earlierAttempts.ts"
import type { Attempting, Step } from "./attemptState.ts"
import { unlessStartedUnderEarlierKey } from "./unlessStartedUnderEarlierKey.ts"

export const replayFailure: Step = (attempt, next) => {
  const { call, run, tool } = attempt
  const replayed = failedBefore(run, call, tool.info)
  return replayed === undefined ? next(attempt) : Effect.matchEffect(replayed, {
    onFailure: (error): Attempting => {
      const failed = Effect.fail(error)
      if (hasFailedBefore(run, call)) return failed
      // The earlier execution may have started one more attempt, which the recovery of today may not make.
      attempt.number = numberOf(call.record)
      attempt.nth = call.record.attempts.count
      return unlessStartedUnderEarlierKey(attempt, () => failed)
    },
    // The tool of today cannot decode the error: the attempt is made again.
    onSuccess: () => next(attempt)
  })
}

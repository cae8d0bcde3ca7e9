/** Steps of an attempt that answer it by an earlier execution of the run, from its journal or its snapshot. */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { snapshotAnswer } from "../replay/snapshotWrites.ts"
import { attemptedOf, type Step, todayOf } from "./attemptState.ts"
import { numberOf } from "../attemptLog.ts"
import { replayedFailure } from "../replay/replayedFailures.ts"
import { matchAttempt, startsOf } from "../replay/attemptedCall.ts"
import { waitForCancellation } from "../../run/runLog.ts"
import { answerStarted, noteCancelledStart } from "../replay/answerStarted.ts"
import { keyedStarts, resolveKeys } from "../replay/resolveKey.ts"
import { isInterruption } from "../../foundation/effect/signal.ts"

/** Answers a call that was completed before the run paused. */
export const answerFromSnapshot: Step = (next) => (attempt) =>
  snapshotAnswer(attempt.tool.info, attempt.call, attempt.run) ?? next(attempt)

/** Fails as the attempt failed in an earlier execution of the run. The failure is neither charged nor announced. */
export const replayFailure: Step = (next) => (attempt) => {
  const { call, run } = attempt
  if (run?.log === undefined) return next(attempt)
  const replayed = replayedFailure(run, attemptedOf(attempt))
  return replayed === undefined ? next(attempt) : Effect.matchEffect(replayed, {
    onFailure: (error) => {
      // The earlier execution may have started one more attempt, which the recovery of today may not make.
      const attempted = attemptedOf({ ...attempt, number: numberOf(call.record) + 1 })
      if (startsOf(run, attempted).length === 0) matchAttempt(run, attempted)
      return Effect.fail(error)
    },
    // The tool of today cannot decode the error: the attempt is made again.
    onSuccess: () => next(attempt)
  })
}

/** Answers a call that an earlier execution of the run has started. No verdict of today takes its start back. */
export const answerFromLog: Step = (next) => (attempt) => {
  const { run, tool } = attempt
  if (run?.log === undefined) return next(attempt)
  const attempted = attemptedOf(attempt)
  const answered = answerStarted(run, attempted)
  if (answered !== undefined) return answered
  // An agent that is a tool is executed, so that the calls of its own run are answered from the log.
  const cancellation = tool.info.isAgent === true ? undefined : waitForCancellation(run)
  if (cancellation !== undefined) {
    noteCancelledStart(run, attempted)
    return cancellation
  }
  const keyed = attempt.idempotency === undefined ? keyedStarts(run, attempted) : []
  return keyed.length === 0 ? next(attempt) : resolveKeys(todayOf(attempt), keyed, () => next(attempt))
}

/**
 * Matches the recorded starts of the call, once it was executed, or its ledger has answered. Of an interrupted execution this execution of the run
 * does not know the outcome.
 */
export const matchLog: Step = (next) => (attempt) => {
  const { call: { record }, run } = attempt
  if (run?.log?.isReplay !== true) return next(attempt)
  return Effect.onExit(next(attempt), (exit) =>
    Effect.sync(() => {
      const isKnown = Exit.isSuccess(exit) || (record.outcome.executed && !exit.cause.reasons.some(isInterruption))
      if (isKnown) matchAttempt(run, attemptedOf(attempt))
    }))
}

/**
 * Step of an attempt: once the call was executed, or its ledger has answered, the recorded starts of the call are matched. Of an interrupted
 * execution this execution of the run does not know the outcome.
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { isInterruption } from "../../foundation/effect/signal.ts"
import { matchAttempt } from "../replay/attemptedCall.ts"
import type { Step } from "./attemptState.ts"

export const matchLog: Step = (next) => (attempt) => {
  const { call: { record }, run } = attempt
  if (run?.replay === undefined) return next(attempt)
  return Effect.onExit(next(attempt), (exit) =>
    Effect.sync(() => {
      const isKnown = Exit.isSuccess(exit) || (record.outcome.executed && !exit.cause.reasons.some(isInterruption))
      if (isKnown) matchAttempt(run, attempt.attempted)
    }))
}

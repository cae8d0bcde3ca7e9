/** Step of an attempt: answers a call that an earlier execution of the run has started. No verdict of today takes its start back. */
import { waitForCancellation } from "../../run/cancelledReplay.ts"
import { idempotencyOf } from "../execute/executeTool.ts"
import { answerStarted, noteCancelledStart } from "../replay/answerStarted.ts"
import { keyedStarts, resolveKeys } from "../replay/resolveKey.ts"
import type { Step } from "./attemptState.ts"

export const answerFromLog: Step = (next) => (attempt) => {
  const { call, run, tool } = attempt
  if (run?.journal === undefined) return next(attempt)
  const { attempted } = attempt
  const answered = answerStarted(run, attempted)
  if (answered !== undefined) return answered
  // An agent that is a tool is executed, so that the calls of its own run are answered from the log.
  const held = tool.info.isAgent === true ? undefined : waitForCancellation(run)
  if (held !== undefined) {
    noteCancelledStart(run, attempted)
    return held
  }
  const keyed = idempotencyOf(tool, call) === undefined ? keyedStarts(run, attempted) : []
  return keyed.length === 0 ? next(attempt) : resolveKeys(attempt.today, keyed, () => next(attempt))
}

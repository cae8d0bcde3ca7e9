/** Step of an attempt: answers a call that an earlier execution of the run has started. No verdict of today takes its start back. */
import { heldBack } from "../../run/heldBack.ts"
import { begunBefore, noteCutOff } from "../intent.ts"
import type { Step } from "./attemptState.ts"
import { unlessStartedUnderEarlierKey } from "./unlessStartedUnderEarlierKey.ts"

export const answerFromLog: Step = (attempt, next) => {
  const { run, tool } = attempt
  if (run?.journal === undefined) return next(attempt)
  const answered = begunBefore(run.journal, run, attempt.intended)
  if (answered !== undefined) return answered
  // An agent that is a tool is executed, so that the calls of its own run are held back.
  const held = tool.info.isAgent === true ? undefined : heldBack(run)
  if (held === undefined) return unlessStartedUnderEarlierKey(attempt, () => next(attempt))
  noteCutOff(attempt.intended)
  return held
}

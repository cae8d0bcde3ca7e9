/** Step of an attempt: once the call was executed, or its ledger has answered, the log's entries of the call are matched. */
import { comingBy } from "../hiddenBeginning.ts"
import type { Step } from "./attemptState.ts"

export const matchLog: Step = (attempt, next) => {
  const { run } = attempt
  return run?.journal?.isResumed === true
    ? comingBy(run, attempt.intended, next(attempt))
    : next(attempt)
}

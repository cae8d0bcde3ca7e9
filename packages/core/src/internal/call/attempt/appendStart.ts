/** Step of an attempt: appends its start to the journal or the write log of the run. The attempt of a resumed agent has its start there. */
import { recorded } from "../ledger/loggedWrite.ts"
import type { Step } from "./attemptState.ts"

export const appendStart: Step = (next) => (attempt) => {
  const { key, run } = attempt
  return run !== undefined && attempt.isNew && (run.journal !== undefined || run.writes.log !== undefined)
    ? recorded(run, attempt.attempted, key, () => next(attempt))
    : next(attempt)
}

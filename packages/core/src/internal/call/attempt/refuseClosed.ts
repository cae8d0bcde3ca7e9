/** Step of an attempt: refuses a call that may not run any more. */
import { mayRunAgain } from "../call.ts"
import { refuse } from "../refusal.ts"
import type { Step } from "./attemptState.ts"

export const refuseClosed: Step = (next) => (attempt) => {
  const { call, run } = attempt
  return call.record.recovering.closedBy !== undefined || call.closed === true || !mayRunAgain(call)
    ? refuse(call, run)
    : next(attempt)
}

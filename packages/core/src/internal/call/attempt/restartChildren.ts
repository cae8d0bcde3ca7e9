/** Step of an attempt: the calls that this attempt makes take the place of those that the attempt before made. */
import { forgetMadeCalls } from "../childCall.ts"
import type { Step } from "./attemptState.ts"

export const restartChildren: Step = (attempt, next) => {
  forgetMadeCalls(attempt.call)
  return next(attempt)
}

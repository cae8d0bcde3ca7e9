/** Step of an attempt: the calls that this attempt makes take the place of those that the attempt before made. */
import { noteChange } from "../../run/state/counts.ts"
import { forgetMadeCalls } from "../children/childCall.ts"
import type { Step } from "./attemptState.ts"

export const restartChildren: Step = (next) => (attempt) => {
  // A write may wait until this call is made.
  noteChange(attempt.run)
  forgetMadeCalls(attempt.call)
  return next(attempt)
}

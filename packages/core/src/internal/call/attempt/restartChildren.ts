/** Step of an attempt: the calls that this attempt makes take the place of those that the attempt before made. */
import { anew } from "../childCall.ts"
import type { Step } from "./attemptState.ts"

export const restartChildren: Step = (attempt, next) => {
  anew(attempt.call)
  return next(attempt)
}

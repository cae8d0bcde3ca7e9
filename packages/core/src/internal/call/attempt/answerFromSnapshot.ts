/** Step of an attempt: answers a call that was completed before the run paused. */
import { doneBefore } from "../replay/snapshotWrites.ts"
import type { Step } from "./attemptState.ts"

export const answerFromSnapshot: Step = (next) => (attempt) =>
  doneBefore(attempt.tool.info, attempt.call, attempt.run) ?? next(attempt)

/** Step of an attempt: numbers it, records its arguments, and announces its end. */
import { after } from "../../foundation/effect/sequence.ts"
import { announceEnd, numberFor } from "../attemptLog.ts"
import { noteArguments } from "../children/untrustedContent.ts"
import { noteRequested, startAttempt } from "../record/attempts.ts"
import type { Step } from "./attemptState.ts"

export const numberAttempt: Step = (next) => (attempt) => {
  const { call, run } = attempt
  attempt.nth = startAttempt(call.record)
  attempt.number = numberFor(run, call)
  noteArguments(call.record, call.arguments)
  noteRequested(call.record, call)
  return run?.audience === undefined ? next(attempt) : after(next(attempt), (exit) => announceEnd(attempt, exit))
}

/** Step of an attempt: numbers it, records its arguments, and announces its end. */
import { after } from "../../foundation/sequence.ts"
import { announceEnd, numberFor } from "../attemptLog.ts"
import { noteArguments } from "../record.ts"
import type { Step } from "./attemptState.ts"

export const numberAttempt: Step = (attempt, next) => {
  const { call, run } = attempt
  attempt.nth = ++call.record.attempts
  attempt.number = numberFor(run, call)
  noteArguments(call.record, call.arguments)
  call.record.requested = call
  return run?.audience === undefined ? next(attempt) : after(next(attempt), (exit) => announceEnd(attempt, exit))
}

/** Step of an attempt: policies and the tool decide about the call. A person or a policy may answer in the tool's place. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { asJson } from "../arguments/argumentsAsJson.ts"
import { idempotencyOf } from "../execute/executeTool.ts"
import { admit, isOpen } from "../admissionGate.ts"
import { stoppedUnlessStarted } from "../replay/stoppedUnlessStarted.ts"
import type { Attempting, Step } from "./attemptState.ts"
import { invalidArguments } from "../arguments/invalidArguments.ts"
import { noteAnswer } from "../record/outcome.ts"

export const admitCall: Step = (next) => (attempt) => {
  const { call, params, raw, tool, tool: { info, parameters, success } } = attempt
  const isAdmitted = isOpen(info, call)
  if (isAdmitted && idempotencyOf(tool, call) === undefined) return next(attempt)
  const answered = (answer: Option.Option<unknown>): Attempting => {
    if (Option.isNone(answer)) return next(attempt)
    noteAnswer(call.record, answer)
    return Effect.succeed(answer.value)
  }
  return Effect.flatMapEager(
    Effect.catchEager(asJson(parameters, raw, params), (issues) => invalidArguments(attempt, issues)),
    (json): Attempting => {
      attempt.raw = json
      return isAdmitted
        ? next(attempt)
        : stoppedUnlessStarted(attempt.today, admit(info, call, json, params, success), answered)
    }
  )
}

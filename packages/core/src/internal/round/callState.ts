/**
 * State of a call while its round runs, and the result of a call that has none at the end of the run. A call that an earlier execution may have
 * started is never reported as not done.
 */
import * as Cause from "effect/Cause"
import { failureOfEnded, outcomeUnknown } from "../result/failureOf.ts"
import type { ToolFailure } from "../projection/toolFailure.ts"
import type { CallOutcome, CallResult, RequestedCall, Waiting } from "../run/callResult.ts"
import { unknownSince } from "./missingTool.ts"
import { failed, repairedIn, type RoundContext } from "./roundContext.ts"
import { undecided } from "./resume/pausedResult.ts"
import { outcomeUndecided } from "../approval/waitsWithin.ts"

/** Returns the failure of a call that an earlier execution has started, and that this one has not executed, or not as far as that one. */
export const failureOfUnreached = (calls: RoundContext, call: RequestedCall): ToolFailure | undefined => {
  const { run, run: { log, scope }, shown } = calls
  if (log === undefined) return undefined
  const record = calls.records.get(call.id)
  if (record?.outcome.executed !== true) {
    return log.hasUnmatchedCall(scope, call.id) ? unknownSince(calls, call) : undefined
  }
  return log.hasUnmatchedWithin(scope, call.id) ? outcomeUnknown(record, run.id, shown.user) : undefined
}

/** A call is not started, runs, has ended with its outcome, or has ended the run. */
export type CallState = CallOutcome | { readonly _tag: "Running" } | {
  readonly _tag: "Failed"
  readonly cause: Cause.Cause<unknown>
}

/** The error with which a call ended the run. */
export const errorOf = (state: CallState | undefined): unknown =>
  state?._tag === "Failed" ? state.cause.reasons.find(Cause.isFailReason)?.error : undefined

/** The result of a call that ended the run, or that the run's end interrupted. `waited`: how it waited before. */
export const endedResult = (
  calls: RoundContext,
  call: RequestedCall,
  state: CallState | undefined,
  waited: Waiting | undefined
): CallResult => {
  const { records, run, shown, shown: { user } } = calls
  if (waited !== undefined && outcomeUndecided(waited) === "unknown" && !records.has(call.id)) {
    return undecided(run, shown, call, waited)
  }
  const error = errorOf(state)
  const record = records.get(call.id)
  const earlier = error === undefined ? failureOfUnreached(calls, call) : undefined
  return failed(call, earlier ?? failureOfEnded(record, error, run.id, user), repairedIn(record))
}

/** State of a call while its round runs, and the result of a call that has none at the end of the run. */
import * as Cause from "effect/Cause"
import { failed, repairedIn, type RoundContext } from "./roundContext.ts"
import type { CallOutcome, CallResult, RequestedCall, Waiting } from "../run/callResult.ts"
import { failureOfUnreached } from "./unreachedCall.ts"
import { undecided } from "./resume/pausedResult.ts"
import { outcomeUndecided } from "../approval/waitsWithin.ts"
import { failureOfEnded } from "../result/failureOf.ts"

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

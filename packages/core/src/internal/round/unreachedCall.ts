/**
 * Unreached calls: a call of an earlier execution's answer that this execution has not executed as far, because the run
 * ended before. It is never reported as not done, because the earlier execution may have started it.
 */
import { outcomeUnknown } from "../result/failureOf.ts"
import type { ToolFailure } from "../projection/toolFailure.ts"
import type { RequestedCall } from "../run/callResult.ts"
import { unknownSince } from "./missingTool.ts"
import type { RoundContext } from "./roundContext.ts"

/** Returns the failure of a call that an earlier execution has started, and that this one has not executed, or not as far as that one. */
export const failureOfUnreached = (calls: RoundContext, call: RequestedCall): ToolFailure | undefined => {
  const { run, run: { replay, scope }, shown } = calls
  if (replay === undefined) return undefined
  const record = calls.records.get(call.id)
  if (record?.outcome.executed !== true) {
    return replay.hasUnmatchedCall(scope, call.id) ? unknownSince(calls, call) : undefined
  }
  return replay.hasUnmatchedWithin(scope, call.id) ? outcomeUnknown(record, run.id, shown.user) : undefined
}

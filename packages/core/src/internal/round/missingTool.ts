/**
 * Changed tool: a call that an earlier execution of the run may have started, of a tool that this version of the agent
 * does not have, or has changed. It is not run again, and never reported as not done.
 */
import { recordStart } from "../call/execute/effects.ts"
import { newRecord } from "../call/record/record.ts"
import * as Arguments from "../call/arguments/toolArguments.ts"
import type { ToolFailure } from "../projection/toolFailure.ts"
import { outcomeUnknown } from "../result/failureOf.ts"
import type { CallResult, RequestedCall } from "../run/callResult.ts"
import { counted, type RoundContext } from "./roundContext.ts"
import { addExecuted, use } from "../run/state/runState.ts"

/**
 * True if an earlier execution has started a call, or an inner one, of a tool that this version of the agent does not
 * have.
 */
export const isOfMissingTool = ({ run: { log, scope } }: RoundContext, call: RequestedCall): boolean =>
  log?.hasUnmatchedCall(scope, call.id) === true

/** Records that an earlier execution may have executed a call, and returns its failure result. */
export const unknownSince = (
  { run, shown: { user }, tools, within }: RoundContext,
  call: RequestedCall
): ToolFailure => {
  const record = newRecord(call.id, { around: within, tool: tools.get(call.name)?.tool.info })
  recordStart(run, record, "unknown", () => run.clock.currentTimeMillisUnsafe())
  addExecuted(run, {
    tool: call.name,
    callId: call.id,
    attempt: 1,
    arguments: Arguments.toText(call.params),
    outcome: "unknown"
  })
  return outcomeUnknown(record, run.id, user)
}

/** The result of such a call. */
export const resultOfMissingTool = (calls: RoundContext, call: RequestedCall): CallResult => {
  use(calls.run, "toolCalls", 1)
  return counted(calls, call, unknownSince(calls, call))
}

/** Answer of one call of the model: it is executed, or has its failure without being executed. */
import * as Effect from "effect/Effect"
import type { ToolFailure } from "../projection/toolFailure.ts"
import * as Failures from "../projection/failures.ts"
import { isOfMissingTool, resultOfMissingTool } from "./missingTool.ts"
import { delivered, failed, type RoundContext } from "./roundContext.ts"
import type { CallOutcome, CallResult, RequestedCall } from "../run/callResult.ts"
import { knownFailure, repeated, unknown } from "./repeatedFailures.ts"
import { runCall } from "./runCall.ts"
import { inCallSpan, type OnEnd } from "./callSpan.ts"

/** Answers a call. A tool that was not offered does not exist for the model. */
export const answerCall = (
  calls: RoundContext,
  raw: RequestedCall,
  onEnd: OnEnd
): Effect.Effect<CallOutcome, unknown, unknown> => {
  const tool = calls.offered.includes(raw.name) ? calls.tools.get(raw.name) : undefined
  if (tool === undefined && isOfMissingTool(calls, raw)) {
    return inCallSpan(calls, raw, Effect.suspend(() => delivered(calls, resultOfMissingTool(calls, raw))), { onEnd })
  }
  const outcome = repeated(calls, raw)
  const failure = outcome === undefined
    ? knownFailure(calls, raw)
    : Failures.repeatedCall(outcome.times, outcome.code, calls.run.id, calls.shown.user)
  return failure !== undefined || tool === undefined
    ? notRun(calls, raw, failure, onEnd)
    : runCall(calls, tool, raw, { arguments: raw.params }, onEnd)
}

/** A call that receives its failure without being run. Without a failure there is no such tool. */
const notRun = (calls: RoundContext, raw: RequestedCall, failure: ToolFailure | undefined, onEnd: OnEnd) => {
  const answer = () => delivered(calls, failure === undefined ? unknown(calls, raw) : failed(raw, failure))
  return inCallSpan(calls, raw, Effect.suspend(answer), { onEnd })
}

/**
 * The result of a call, readdressed to another one with the same arguments: the envelope of untrusted text names its
 * call.
 */
export const readdressed = (result: CallResult, call: RequestedCall): CallResult => {
  const to = (value: unknown): unknown => {
    const fields = Object(value) as object
    return Object.hasOwn(fields, "untrusted") && Object.hasOwn(fields, "call_id")
      ? { ...fields, call_id: call.id }
      : value
  }
  return {
    ...result,
    call,
    encoded: to(result.encoded),
    whole: to(result.whole)
  }
}

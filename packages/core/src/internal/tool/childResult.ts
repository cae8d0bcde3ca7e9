/** Result of a call that a tool makes, for listeners and the audit. */
import * as Cause from "effect/Cause"
import * as Exit from "effect/Exit"
import { Pending } from "../../ToolError.ts"
import type { Call } from "../call/call.ts"
import { type CallRecord, rootOf, toolName } from "../call/record/record.ts"
import { mayHaveWritten } from "../call/children/writesWithin.ts"
import * as Failures from "../projection/failures.ts"
import { pendingResult } from "../projection/pendingTask.ts"
import type { ToolFailure } from "../projection/toolFailure.ts"
import { failureOfEnded, failureOfInterrupted, marksOfSuccess, outcomeUnknown } from "../result/failureOf.ts"
import type { CallResult } from "../run/callResult.ts"
import type { Any, Checked } from "./tool.ts"

/** Exit of a call made by a tool. */
export type ChildExit = Exit.Exit<Checked<unknown>, unknown>

/** True if a call waits for a person. Other stopped calls are repeated when the call of the agent resumes. */
export const waits = (record: CallRecord): boolean =>
  record.gate !== undefined && record.admission.stop?._tag === "Waiting" && rootOf(record).admission.stop?.of === record

const failureOf = (
  record: CallRecord,
  error: unknown,
  traceId: string,
  user: Failures.UserTexts | undefined
): ToolFailure => {
  switch (record.admission.stop?._tag) {
    case "Denied":
      return mayHaveWritten(record) ? outcomeUnknown(record, traceId, user) : Failures.denied(traceId, user)
    case "CutOff":
      return failureOfInterrupted(record, traceId, user)
    case "Waiting":
      return Failures.waiting(traceId, user)
    default:
      return failureOfEnded(record, error, traceId, user)
  }
}

/** Outcome of a call before its delivery. */
export const childResult = (
  { status }: Pick<Any, "status">,
  { arguments: params, record }: Call,
  exit: ChildExit,
  traceId: string,
  user?: Failures.UserTexts
): CallResult => {
  const name = toolName(record)
  const base = { call: { id: record.callId, name, params }, modelOutput: undefined, repaired: undefined }
  if (Exit.isSuccess(exit)) {
    return { ...base, isFailure: false, encoded: exit.value.encoded, ...marksOfSuccess(record) }
  }
  const error = exit.cause.reasons.find(Cause.isFailReason)?.error
  return error instanceof Pending
    ? { ...base, isFailure: false, encoded: pendingResult(error, status?.name), pendingOf: name }
    : { ...base, isFailure: true, encoded: failureOf(record, error, traceId, user) }
}

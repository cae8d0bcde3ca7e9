/** Failed results of calls, and the marks of the others: a write that may have happened is never reported as not done. */
import * as Duration from "effect/Duration"
import { Escalation, InvalidResult, isToolError, PartialSuccess, Timeout } from "../../ToolError.ts"
import {
  happened,
  hasUncertainEffect,
  isAnsweredUnknown,
  isUnanswered,
  mayBeRepeated,
  unknownOutcome
} from "../call/execute/effects.ts"
import { type CallRecord, errorFields } from "../call/record/record.ts"
import { markOf } from "../projection/degradedMark.ts"
import * as Failures from "../projection/failures.ts"
import type { ToolFailure } from "../projection/toolFailure.ts"
import { type CallResult, codeOf, uncertainCodes } from "../run/callResult.ts"

/** Failures that declare a completed call. An escalation of recovery counts like its error. */
const saysDone = (error: unknown): boolean =>
  error instanceof Escalation
    ? error.error === undefined || saysDone(error.error)
    : error instanceof InvalidResult || error instanceof PartialSuccess

/** True if the model may repeat a call: not a read with an inner write. */
const mayBeMadeAgain = ({ attempts: { tool }, children: { within } }: CallRecord): boolean =>
  mayBeRepeated(tool!) && (tool!.effects === "idempotent" || within === undefined)

const isUncertain = (record: CallRecord, error: unknown): boolean => {
  const known = happened(record)
  return known === "unknown" || (known === "yes" && !saysDone(error))
}

/** True if an error is of another call: one made by the executor, which passes its message on. */
const isOfAnother = (record: CallRecord, error: unknown): boolean =>
  isToolError(error) &&
  (error.callId !== record.callId || (error instanceof Escalation && isOfAnother(record, error.error)))

/** A failed inner call does not decide if the outer one may be repeated. */
const notSafe = ({ instruction: _, ...failure }: ToolFailure): ToolFailure => ({ ...failure, safe_to_retry: false })

/** Returns the failure result of a call that failed with an error. */
export const failureOf = (
  record: CallRecord | undefined,
  error: unknown,
  traceId: string,
  user?: Failures.UserTexts
): ToolFailure => {
  if (record === undefined) return Failures.toolFailure(error, traceId, user)
  const isOwn = !isOfAnother(record, error)
  if (isUncertain(record, error)) {
    return Failures.unknownOutcome(error, mayBeMadeAgain(record), isOwn, traceId, user)
  }
  const failure = Failures.toolFailure(error, traceId, user)
  return isOwn || !failure.safe_to_retry || mayBeMadeAgain(record) ? failure : notSafe(failure)
}

/** True if an inner idempotent call was interrupted while it ran. */
const hasInterruptedWithin = ({ children }: CallRecord): boolean => {
  for (const child of children.byPlace.values()) {
    if (child.attempts.tool?.effects === "idempotent" && child.outcome.happened === "unknown") return true
    if (hasInterruptedWithin(child)) return true
  }
  return false
}

/**
 * Returns the failure result of a call without a result at the run's end: because of the call itself, or while it ran,
 * or before.
 */
export const failureOfEnded = (
  record: CallRecord | undefined,
  error: unknown,
  traceId: string,
  user?: Failures.UserTexts
): ToolFailure => {
  if (error !== undefined || (record !== undefined && isUncertain(record, error))) {
    return failureOf(record, error, traceId, user)
  }
  return record !== undefined && hasInterruptedWithin(record)
    ? outcomeUnknown(record, traceId, user)
    : Failures.notRun(record?.outcome.executed === true, traceId, user)
}

/** Returns the failure result of a call that may have been done, without a known end. */
export const outcomeUnknown = (record: CallRecord, traceId: string, user?: Failures.UserTexts): ToolFailure =>
  Failures.toolFailure(unknownOutcome(record), traceId, user)

/** Returns the failure result of an interrupted call that may not run again: a read did not answer in time. */
export const failureOfInterrupted = (record: CallRecord, traceId: string, user?: Failures.UserTexts): ToolFailure =>
  mayBeRepeated(record.attempts.tool!) && record.children.within === undefined
    ? Failures.toolFailure(new Timeout({ ...errorFields(record), after: Duration.zero }), traceId, user)
    : outcomeUnknown(record, traceId, user)

/** Returns the marks of a success. An unknown inner call has an audit record of its own. */
export const marksOfSuccess = (record: CallRecord): Pick<CallResult, "degraded" | "isInPlaceOfUnknown" | "verdict"> => {
  const { admission: { substitutedBy }, marks: { degraded } } = record
  const isUnknown = isAnsweredUnknown(record)
  return {
    degraded: degraded && markOf(degraded),
    ...(isUnknown ? { isInPlaceOfUnknown: true } : undefined),
    verdict: isUnknown && isUnanswered(record)
      ? { decision: "outcome_unknown" }
      : substitutedBy === undefined
      ? undefined
      : { decision: "substituted", by: substitutedBy }
  }
}

/** True if another answer than the tool's, without a mark of its source, follows a failure that is not declared as not done. */
const isAnsweredAfterFailure = (record: CallRecord): boolean => {
  const { admission: { substitutedBy }, marks: { degraded }, outcome: { answered, answeredInPlace, isUndeclared } } =
    record
  return isUndeclared && answered === undefined && (answeredInPlace !== undefined || happened(record) === "no") &&
    degraded === undefined && substitutedBy === undefined
}

/** Marks a result whose call may have been done, unless its code says so. */
export const withUncertainty = (record: CallRecord | undefined, result: CallResult): CallResult => {
  if (record === undefined) return result
  const isUncertain = result.isFailure
    ? !uncertainCodes.has(codeOf(result)) && hasUncertainEffect(record)
    : result.isInPlaceOfUnknown === true || isAnsweredAfterFailure(record)
  return isUncertain ? { ...result, uncertain: true } : result
}

/** Failed result of a call: a write that may have happened is never called not done. */
import * as Duration from "effect/Duration"
import { Escalation, InvalidResult, isToolError, PartialSuccess, Timeout } from "../../ToolError.ts"
import { mayBeRepeated } from "../call/execute/passThrough.ts"
import { happened, unknownOutcome } from "../call/execute/effects.ts"
import type { CallRecord } from "../call/record/record.ts"
import * as Failures from "../projection/failures.ts"
import type { ToolFailure } from "../projection/toolFailure.ts"
import { errorFields } from "../call/callSubject.ts"

/** Failures of a call that was done, which say so. What recovery escalates of an error says what the error does. */
const saysDone = (error: unknown): boolean =>
  error instanceof Escalation
    ? error.error === undefined || saysDone(error.error)
    : error instanceof InvalidResult || error instanceof PartialSuccess

/** Whether the model may make a call again: not a read within which something was written. */
const mayBeMadeAgain = ({ attempts: { tool }, children: { within } }: CallRecord): boolean =>
  mayBeRepeated(tool!) && (tool!.effects === "idempotent" || within === undefined)

const isUncertain = (record: CallRecord, error: unknown): boolean => {
  const known = happened(record)
  return known === "unknown" || (known === "yes" && !saysDone(error))
}

/** Whether an error is of another call: one that the executor made, and whose word it passes on. */
const isOfAnother = (record: CallRecord, error: unknown): boolean =>
  isToolError(error) &&
  (error.callId !== record.callId || (error instanceof Escalation && isOfAnother(record, error.error)))

/** What is said of a call that failed within another one says nothing of whether that one may be made again. */
const notSafe = ({ instruction: _, ...failure }: ToolFailure): ToolFailure => ({ ...failure, safe_to_retry: false })

/** What is said of a call that failed with an error. */
export const failureOf = (
  record: CallRecord | undefined,
  error: unknown,
  traceId: string,
  user?: Failures.UserTexts
): ToolFailure => {
  if (record === undefined) return Failures.toolFailure(error, traceId, user)
  const isOwn = !isOfAnother(record, error)
  if (isUncertain(record, error)) {
    return Failures.mayHaveHappened(error, mayBeMadeAgain(record), isOwn, traceId, user)
  }
  const failure = Failures.toolFailure(error, traceId, user)
  return isOwn || !failure.safe_to_retry || mayBeMadeAgain(record) ? failure : notSafe(failure)
}

/** Whether an idempotent call within a call was interrupted while it ran. */
const hasInterruptedWithin = ({ children }: CallRecord): boolean => {
  for (const child of children.byPlace.values()) {
    if (child.attempts.tool?.effects === "idempotent" && child.outcome.happened === "unknown") return true
    if (hasInterruptedWithin(child)) return true
  }
  return false
}

/** What is said of a call that has no result, as the run ended: because of the call itself, or while it ran, or before. */
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

/** What is said of a call that may have been done, where nothing is known that it ended with. */
export const outcomeUnknown = (record: CallRecord, traceId: string, user?: Failures.UserTexts): ToolFailure =>
  Failures.toolFailure(unknownOutcome(record), traceId, user)

/** What is said of a call that was cut off and may not run again: a read gave no answer in time, and nothing more. */
export const failureOfInterrupted = (record: CallRecord, traceId: string, user?: Failures.UserTexts): ToolFailure =>
  mayBeRepeated(record.attempts.tool!) && record.children.within === undefined
    ? Failures.toolFailure(new Timeout({ ...errorFields(record), after: Duration.zero }), traceId, user)
    : outcomeUnknown(record, traceId, user)

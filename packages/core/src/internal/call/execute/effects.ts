/** Knowledge of a call's effects, kept from the moment that its executor begins. No later refusal can take it back. */
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { AgentException, Escalated, Escalation, OutcomeUnknown, PartialSuccess, Pending } from "../../../ToolError.ts"
import { stackless } from "../../foundation/stacklessError.ts"
import { recallCall } from "../../run/writes/recordedWrites.ts"
import type { Run } from "../../run/run.ts"
import { type CallRecord, errorFields, forEachAround, isStop, outerOf, rootOf } from "../record/record.ts"
import { noteWithin } from "../record/children.ts"
import {
  endExecution,
  endInPlace,
  type Happened,
  noteError,
  noteStartedAt,
  startExecution,
  startInPlace
} from "../record/outcome.ts"
import { closeCall } from "../record/recovering.ts"
import { noteStartedWrite } from "../../run/state/runState.ts"
import type { ToolInfo } from "../tool/toolInfo.ts"

/**
 * Errors of an executor that pass unchanged: they already define the next step.
 *
 * @category errors
 * @since 0.2.0
 */
export type PassThrough = Escalation | Escalated | AgentException | PartialSuccess | Pending | OutcomeUnknown

export const isPassThrough = (u: unknown): u is Exclude<PassThrough, OutcomeUnknown> =>
  u instanceof Escalation || u instanceof Escalated || u instanceof AgentException || u instanceof PartialSuccess ||
  u instanceof Pending

export const mayBeRepeated = ({ effects }: ToolInfo): boolean => effects === "read" || effects === "idempotent"

/** True if a failed execution is `OutcomeUnknown`, unless the tool declares that it was not done. */
export const isWrite = ({ effects, passesKey }: ToolInfo): boolean =>
  effects === "write" || (effects === undefined && passesKey)

/** Notes the start of an execution that may write: its time, and that the calls around it have a write within. */
export const noteWriteStart = (record: CallRecord, isFirst: boolean, now: () => number): void => {
  const { attempts: { tool }, children: { within } } = record
  if (tool !== undefined && mayBeRepeated(tool) && within === undefined) return
  if (isFirst) noteStartedAt(record, now())
  forEachAround(record, (outer) => noteWithin(outer, record), outerOf)
}

/**
 * Returns the known effect of a call itself, without that of its replacements. Without a replacement both are the same.
 */
export const happenedItself = ({ outcome: { happened, known, running, runningInPlace } }: CallRecord): Happened =>
  running === runningInPlace ? known : happened

/** True if a replacement of a call ended with an error of its own, or because a policy denied one of its calls. */
const isRefusal = ({ admission: { stop } }: CallRecord, cause: Cause.Cause<unknown>): boolean =>
  Cause.hasFails(cause) || (stop?._tag === "Denied" && cause.reasons.every(isStop))

/** Runs the replacement of a call: its effect is unknown before it ends. `by` is the declaration of the replacement. */
export const inPlace = <A, E, R>(
  record: CallRecord,
  by: unknown,
  answer: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.suspend(() => {
    startInPlace(record)
    return Effect.onExitPrimitive(answer, (exit) => {
      if (Exit.isSuccess(exit)) endInPlace(record, "yes", { by, value: exit.value })
      else endInPlace(record, isRefusal(record, exit.cause) ? record.outcome.known : "unknown", undefined)
      return undefined
    })
  })

/** Error of a call with an unknown end. */
export const unknownOutcome = (record: CallRecord): OutcomeUnknown =>
  stackless(() => new OutcomeUnknown({ ...errorFields(record), after: Duration.zero }))

/**
 * Closes a call to all executions, regardless of its present tool: an earlier execution of the run has started it as
 * another tool, or under another key, with an unknown outcome.
 */
export const close = (record: CallRecord): void => {
  const error = unknownOutcome(record)
  noteError(record, error)
  closeCall(record, error, undefined)
}

/**
 * Returns the exit of a write's replacement without running it: another attempt of the write, or another replacement,
 * has started since the failure, for example if a call is raced with itself. `undefined` if it may run. Calls of writes
 * fail with `OutcomeUnknown` by their types.
 */
export const overtaken = (record: CallRecord, by: unknown): Exit.Exit<never> | undefined => {
  const { outcome: { answered, answeredInPlace, happened }, attempts: { tool } } = record
  if (tool === undefined || !isWrite(tool)) return undefined
  const same = answered ?? (answeredInPlace?.by === by ? answeredInPlace : undefined)
  if (same !== undefined && happened !== "unknown") return Exit.succeed(same.value as never)
  return happened === "unknown" || answeredInPlace !== undefined
    ? Exit.fail(unknownOutcome(record) as never)
    : undefined
}

const isUnknownWithin = ({ children: { within } }: CallRecord): boolean =>
  within !== undefined && [...within].some((call) => call.outcome.happened === "unknown")

/**
 * True if an escalation is of a call itself, or of the agent that is its tool; and not of a call that its executor
 * made.
 */
const isOwnWord = (
  { callId, attempts: { tool } }: CallRecord,
  error: PassThrough
): boolean => tool?.isAgent === true || !(error instanceof Escalation) || error.callId === callId

/** Returns the known effect after an execution that failed. `saysNotDone`: true if the tool declares its error as not done. */
export const afterExecution = (
  record: CallRecord,
  exit: Exit.Failure<unknown, unknown>,
  isKeyed: boolean,
  saysNotDone: (error: unknown) => boolean
): Happened => {
  // Effects of an abandoned paused agent are known from its own calls.
  if (record.admission.stop?._tag === "Nested" && exit.cause.reasons.some(isStop)) return record.outcome.known
  const fail = exit.cause.reasons.length === 1 ? exit.cause.reasons.find(Cause.isFailReason) : undefined
  if (fail === undefined) return "unknown"
  const { error } = fail
  if (error instanceof Pending || error instanceof PartialSuccess) return "yes"
  // The executor's own message to the model, or to the caller of the agent. It does not describe a call that it made.
  if (isPassThrough(error) && isOwnWord(record, error)) {
    return isUnknownWithin(record)
      ? "unknown"
      : record.outcome.known
  }
  if (error instanceof OutcomeUnknown) return "unknown"
  return saysNotDone(error) || !(isKeyed || isWrite(record.attempts.tool!) || record.children.within !== undefined)
    ? record.outcome.known
    : "unknown"
}

/** True if inner calls of a call had an effect, or may have had one. */
export const isDoneWithin = ({ children: { within } }: CallRecord): boolean =>
  within !== undefined && [...within].some(({ outcome: { happened } }) => happened !== "no")

/**
 * Records an attempt that did not start here: an earlier execution of the run started it, or another claimant of its
 * key. No component that contains the call is repeated as if the call had not started, and an unknown write is in the
 * log of its run. `startedAt` is in milliseconds since the epoch; it is read for the first attempt of a call.
 */
export const recordStart = (
  run: Run | undefined,
  record: CallRecord,
  known: Happened,
  startedAt: () => number
): void => {
  noteWriteStart(record, startExecution(record), startedAt)
  endExecution(record, known)
  noteStartedWrite(run, record.outcome)
  if (run !== undefined && known === "unknown") recallCall(run, rootOf(record).callId)
}

/**
 * True if the failure of a call does not exclude that the call was done: it or an inner call had an effect, or an
 * execution failed without a declaration that it was not done.
 */
export const hasUncertainEffect = (record: CallRecord): boolean =>
  record.outcome.isUndeclared || happened(record) !== "no"

/** Returns the known effect of a call and of its inner calls. Reads do not count. */
export const happened = (record: CallRecord): Happened => {
  const { attempts: { tool }, children: { within } } = record
  const own = tool?.effects === "read" && within === undefined ? "no" : record.outcome.happened
  if (within === undefined) return own
  const all = new Set([...within].map((call) => call.outcome.happened)).add(own)
  return all.has("unknown") ? "unknown" : all.has("yes") ? "yes" : "no"
}

/** True if the outcome of a call is unknown, and no execution of it gave an answer. Inner calls do not count. */
export const isUnanswered = ({ outcome: { answered, happened } }: CallRecord): boolean =>
  happened === "unknown" && answered === undefined

/**
 * True if a call succeeded in place of an unknown outcome: its recovery answered, or its executor did after an inner write. The answer of an
 * execution that was raced with another one is the call's own.
 */
export const isAnsweredUnknown = (record: CallRecord): boolean =>
  happened(record) === "unknown" && (isUnanswered(record) || [...record.children.within ?? []].some(isUnanswered))

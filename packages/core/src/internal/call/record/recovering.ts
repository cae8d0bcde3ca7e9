/**
 * Recovery of a call: its failures, and the decisions of its retries, fixers and levels. A call that succeeds at once
 * has none.
 */
import type * as Exit from "effect/Exit"
import type * as Effect from "effect/Effect"
import type * as Schedule from "effect/Schedule"
import type { FailedAttempt } from "../../../ToolError.ts"
import type { AttemptError } from "../attemptError.ts"
import type { Happened } from "./outcome.ts"

/** A failed attempt that the log of the run has not got yet. */
export interface AttemptFailure {
  readonly attempt: number
  readonly cause: string
  readonly error: AttemptError
  readonly at: number
  readonly startedAt: number
  readonly executed: boolean
  readonly happened: Happened
}

/** A failure that was followed by another attempt, which has the number. `isFix`: with the arguments of a fixer. */
export interface Repetition {
  readonly failure: string
  readonly attempt: number
  readonly isFix: boolean
}

/** A level of recovery: the tool's own, or the agent's for the tool. */
export type LevelEnd = "endedInTool" | "endedInAgent"

export interface Recovering {
  /** The failed attempts. */
  readonly causes: ReadonlyArray<FailedAttempt>
  /** When the last one failed, in milliseconds since the epoch. */
  readonly lastFailureAt: number | undefined
  /** Those since the last entry of the call in the log of its run: the next entry has them. */
  readonly unrecorded: ReadonlyArray<AttemptFailure>
  /** Set when a fixer answered: the next attempt is the fix's, and no retry. */
  readonly isFix: boolean
  /** Set when a `Recovery.retry` makes the next attempt: it has checked all rules, and the retry budget of the process has paid. */
  readonly isRetryPaid: boolean
  /** Exit of the call with its tool's recovery, which its agent's recovery received. */
  readonly endedInTool: Exit.Exit<unknown, unknown> | undefined
  /** Exit of the call with its agent's recovery for its tool, which the one for all tools received. */
  readonly endedInAgent: Exit.Exit<unknown, unknown> | undefined
  /** Failures that were followed by another attempt. */
  readonly repetitions: ReadonlyArray<Repetition> | undefined
  /** Progress of each retry around the call. */
  readonly retries: ReadonlyMap<object, RetryProgress> | undefined
  /** Errors about which a level of recovery has decided: those around it let them pass. */
  readonly decided: ReadonlyMap<unknown, "rethrown" | "repeated"> | undefined
  /** Set if no attempt runs any more: by a fixer's exception, after which that fixer is not asked again, or by an earlier execution that started the call otherwise. */
  readonly closedBy: { readonly error: unknown; readonly fixer: unknown } | undefined
  /** Name of the fixer whose arguments are used, if not the model's own. */
  readonly fixedBy: string | undefined
  /** The fixer's arguments in text form. */
  readonly fixedArguments: string | undefined
}

class State implements Recovering {
  causes: ReadonlyArray<FailedAttempt> = []
  lastFailureAt: Recovering["lastFailureAt"] = undefined
  unrecorded: ReadonlyArray<AttemptFailure> = []
  isFix = false
  isRetryPaid = false
  endedInTool: Recovering["endedInTool"] = undefined
  endedInAgent: Recovering["endedInAgent"] = undefined
  repetitions: Array<Repetition> | undefined = undefined
  retries: Map<object, RetryProgress> | undefined = undefined
  decided: Map<unknown, "rethrown" | "repeated"> | undefined = undefined
  closedBy: Recovering["closedBy"] = undefined
  fixedBy: Recovering["fixedBy"] = undefined
  fixedArguments: Recovering["fixedArguments"] = undefined
}

interface Has {
  readonly recovering: Recovering
}

/** The state of a call that no recovery has met: one for all, until a call writes its own. */
export const noRecovery: Recovering = new State()

const own = (record: { recovering: Recovering }): State =>
  (record.recovering === noRecovery ? record.recovering = new State() : record.recovering) as State

/** Notes the failure of an attempt. */
export const noteFailure = (record: Has, cause: FailedAttempt, at: number): void => {
  const state = own(record)
  state.causes = [...state.causes, cause]
  state.lastFailureAt = at
}

/** Notes a failed attempt for the next entry of the call in the log of its run. */
export const addUnrecorded = (record: Has, failure: AttemptFailure): void => {
  const state = own(record)
  state.unrecorded = [...state.unrecorded, failure]
}

/** Returns the failed attempts that the next entry of the call has. */
export const takeUnrecorded = (record: Has): ReadonlyArray<AttemptFailure> => {
  const { unrecorded } = record.recovering
  if (unrecorded.length > 0) own(record).unrecorded = []
  return unrecorded
}

/** Notes that the next attempt has the arguments of a fixer. */
export const markFix = (record: Has): void => {
  own(record).isFix = true
}

/** Notes that a `Recovery.retry` makes the next attempt. */
export const payRetry = (record: Has): void => {
  own(record).isRetryPaid = true
}

/** Notes that the next attempt starts, so that the marks of its maker are used. Returns whether its retry was paid. */
export const useMarks = (record: Has): boolean => {
  const { isFix, isRetryPaid } = record.recovering
  if (isFix) own(record).isFix = false
  if (isRetryPaid) own(record).isRetryPaid = false
  return isRetryPaid
}

/** Notes how a level has ended. */
export const noteLevelEnd = (record: Has, level: LevelEnd, exit: Exit.Exit<unknown, unknown>): void => {
  own(record)[level] = exit
}

/** Notes a failure that is followed by another attempt. */
export const addRepetition = (record: Has, repetition: Repetition): void => {
  ;(own(record).repetitions ??= []).push(repetition)
}

/** Notes that a level has decided about an error. */
export const decide = (record: Has, error: unknown, decision: "rethrown" | "repeated"): void => {
  ;(own(record).decided ??= new Map()).set(error, decision)
}

class Progress implements RetryProgress {
  times = 0
  from = 0
  step: RetryProgress["step"] = undefined
}

/** Returns how far a retry has come in the call. */
export const progressOf = (record: Has, retry: object): RetryProgress => {
  const all = own(record).retries ??= new Map()
  const known = all.get(retry)
  if (known !== undefined) return known
  const progress = new Progress()
  all.set(retry, progress)
  return progress
}

/** Notes the started schedule of a retry. */
export const setSchedule = (progress: RetryProgress, step: RetryStep): void => {
  ;(progress as Progress).step = step
}

/** Notes another repetition by a retry. Returns their number. */
export const countRetry = (progress: RetryProgress): number => ++(progress as Progress).times

/** Notes the attempts before the one that follows the last repetition. */
export const setRetriedFrom = (progress: RetryProgress, attempts: number): void => {
  ;(progress as Progress).from = attempts
}

/** Closes the call: each further attempt ends with the error. */
export const closeCall = (record: Has, error: unknown, fixer: unknown): void => {
  own(record).closedBy = { error, fixer }
}

/** Notes that a fixer's arguments are used. */
export const noteFixed = (record: Has, by: string, args: string): void => {
  const state = own(record)
  state.fixedBy = by
  state.fixedArguments = args
}

/** Progress of a retry in a call, over all passes of the call. */
export interface RetryProgress {
  readonly times: number
  /** Attempts of the call before the one that follows its last repetition. */
  readonly from: number
  readonly step: RetryStep | undefined
}

/** A schedule that has started. */
export type RetryStep = Effect.Success<ReturnType<typeof Schedule.toStep<unknown, unknown, never, never>>>

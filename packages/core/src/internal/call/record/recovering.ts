/**
 * Recovery of a call: its failures, and the decisions of its retries, fixers and levels. A call that succeeds at once
 * has none.
 */
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

interface Has {
  recovering: Recovering
}

/** The state of a call that no recovery has met. */
export const noRecovery: Recovering = {
  causes: [],
  lastFailureAt: undefined,
  unrecorded: [],
  isFix: false,
  isRetryPaid: false,
  repetitions: undefined,
  retries: undefined,
  decided: undefined,
  closedBy: undefined,
  fixedBy: undefined,
  fixedArguments: undefined
}

/** Notes the failure of an attempt. */
export const noteFailure = (record: Has, cause: FailedAttempt, at: number): void => {
  record.recovering = { ...record.recovering, causes: [...record.recovering.causes, cause], lastFailureAt: at }
}

/** Notes a failed attempt for the next entry of the call in the log of its run. */
export const addUnrecorded = (record: Has, failure: AttemptFailure): void => {
  record.recovering = { ...record.recovering, unrecorded: [...record.recovering.unrecorded, failure] }
}

/** Returns the failed attempts that the next entry of the call has. */
export const takeUnrecorded = (record: Has): ReadonlyArray<AttemptFailure> => {
  const { unrecorded } = record.recovering
  if (unrecorded.length > 0) record.recovering = { ...record.recovering, unrecorded: [] }
  return unrecorded
}

/** Notes that the next attempt has the arguments of a fixer. */
export const markFix = (record: Has): void => {
  record.recovering = { ...record.recovering, isFix: true }
}

/** Notes that a `Recovery.retry` makes the next attempt. */
export const payRetry = (record: Has): void => {
  record.recovering = { ...record.recovering, isRetryPaid: true }
}

/** Notes that the next attempt starts, so that the marks of its maker are used. Returns whether its retry was paid. */
export const useMarks = (record: Has): boolean => {
  const { isFix, isRetryPaid } = record.recovering
  if (isFix || isRetryPaid) record.recovering = { ...record.recovering, isFix: false, isRetryPaid: false }
  return isRetryPaid
}

/** Notes a failure that is followed by another attempt. */
export const addRepetition = (record: Has, repetition: Repetition): void => {
  record.recovering = { ...record.recovering, repetitions: [...record.recovering.repetitions ?? [], repetition] }
}

/** Notes that a level has decided about an error. */
export const decide = (record: Has, error: unknown, decision: "rethrown" | "repeated"): void => {
  record.recovering = { ...record.recovering, decided: new Map(record.recovering.decided).set(error, decision) }
}

const noProgress: RetryProgress = { times: 0, from: 0, step: undefined }

/** Returns the progress of a retry in the call. */
export const progressOf = ({ recovering: { retries } }: Has, retry: object): RetryProgress =>
  retries?.get(retry) ?? noProgress

/** Notes a part of the progress of a retry in the call. */
export const noteProgress = (record: Has, retry: object, changed: Partial<RetryProgress>): void => {
  const progress = { ...progressOf(record, retry), ...changed }
  record.recovering = { ...record.recovering, retries: new Map(record.recovering.retries).set(retry, progress) }
}

/** Closes the call: each further attempt ends with the error. */
export const closeCall = (record: Has, error: unknown, fixer: unknown): void => {
  record.recovering = { ...record.recovering, closedBy: { error, fixer } }
}

/** Notes that a fixer's arguments are used. */
export const noteFixed = (record: Has, by: string, args: string): void => {
  record.recovering = { ...record.recovering, fixedBy: by, fixedArguments: args }
}

/** Progress of a retry in a call, over all passes of the call. */
export interface RetryProgress {
  /** Number of its repetitions. */
  readonly times: number
  /** Attempts of the call before the one that follows its last repetition. */
  readonly from: number
  /** Its schedule, once it has started. */
  readonly step: RetryStep | undefined
}

/** A schedule that has started. */
export type RetryStep = Effect.Success<ReturnType<typeof Schedule.toStep<unknown, unknown, never, never>>>

/** Repeated failures of a call: which were followed by another attempt, and which errors an inner level has decided about. */
import { ExecutionError, type FailedAttempt, InvalidArgs, OutcomeUnknown, Timeout } from "../../ToolError.ts"
import { tagOf } from "../foundation/errorTags.ts"
import type { CallRecord } from "./record.ts"
import type { RetryProgress } from "./retryProgress.ts"

const kindOf = ({ error, reason }: Omit<FailedAttempt, "attempt">): string => `${error}/${tagOf(reason) ?? ""}`

/** The failure that an attempt's error tells of; nothing for errors that others made. */
const failureOf = (error: unknown): string | undefined => {
  if (
    !(error instanceof ExecutionError || error instanceof Timeout || error instanceof OutcomeUnknown ||
      error instanceof InvalidArgs)
  ) return undefined
  const last = error.causes.at(-1)
  return last && kindOf(last)
}

/** Notes that an attempt is made after the last one's failure. */
export const noteRepetition = (record: CallRecord, attempt: number): void => {
  const last = record.causes.at(-1)
  ;(record.repetitions ??= []).push({ failure: last === undefined ? "" : kindOf(last), attempt })
}

/** Whether a level that began after `from` attempts has itself met an error by another attempt. */
const isRepeatedSince = ({ repetitions }: CallRecord, from: number, error: unknown): boolean => {
  const within = repetitions?.filter(({ attempt }) => attempt > from + 1) ?? []
  const failure = failureOf(error)
  return within.length > 0 && (failure === undefined || within.some((repetition) => repetition.failure === failure))
}

/** Errors of attempts that were made again in vain, for the calls that their calls are made in. */
const exhausted = new WeakSet<object>()

/** Notes that an attempt has met the failure again that it was made after. */
export const noteExhausted = (record: CallRecord, error: object): void => {
  if (isRepeatedSince(record, 0, error)) exhausted.add(error)
}

/** Whether a failure is one of a call within that was made again in vain. */
export const isExhaustedWithin = (error: unknown): boolean =>
  error instanceof ExecutionError && (exhausted.has(error.reason as object) || isExhaustedWithin(error.reason))

/** Whether a level within has decided about an error. */
export const isDecided = ({ decided }: CallRecord, error: unknown): boolean => decided?.has(error) === true

/** Notes that nothing around may decide about an error again. */
export const decide = (record: CallRecord, error: unknown): void => {
  ;(record.decided ??= new Set()).add(error)
}

/** Notes what a level has decided that began after `from` attempts. */
export const decideLevel = (record: CallRecord, from: number, error: unknown): void => {
  if (isRepeatedSince(record, from, error)) decide(record, error)
}

/** How far a retry has come in a call. */
export const progressOf = (record: CallRecord, retry: object): RetryProgress => {
  const all = record.retries ??= new Map()
  const known = all.get(retry)
  if (known !== undefined) return known
  const progress: RetryProgress = { times: 0, step: undefined }
  all.set(retry, progress)
  return progress
}

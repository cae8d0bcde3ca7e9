/** Repeated failures of a call: which were followed by another attempt, and which errors an inner level has decided about. */
import { ExecutionError, type FailedAttempt, InvalidArgs, OutcomeUnknown, Timeout } from "../../ToolError.ts"
import { tagOf } from "../foundation/errorTags.ts"
import { isRetried } from "../foundation/effect/retriedFailures.ts"
import type { CallRecord } from "./record/record.ts"
import { addRepetition, decide, type Repetition } from "./record/recovering.ts"

/** A code, and no prose. */
const code = /^[\w.-]{1,40}$/

/** The reason for which an attempt is repeated: the error's tag, and the tag or the code that the executor failed with. */
const kindOf = ({ error, reason }: Omit<FailedAttempt, "attempt">): string =>
  `${error}/${tagOf(reason) ?? (typeof reason === "string" && code.test(reason) ? reason : "")}`

/** Returns the failure behind an attempt's error; `undefined` for errors of other components. */
const failureOf = (error: unknown): string | undefined => {
  if (
    !(error instanceof ExecutionError || error instanceof Timeout || error instanceof OutcomeUnknown ||
      error instanceof InvalidArgs)
  ) return undefined
  const last = error.causes.at(-1)
  return last && kindOf(last)
}

/** Notes that an attempt is made after the last one's failure: as a retry, or with the arguments of a fixer. */
export const noteRepetition = (record: CallRecord, attempt: number): void => {
  const last = record.recovering.causes.at(-1)
  const failure = last === undefined ? "" : kindOf(last)
  addRepetition(record, { failure, attempt, isFix: record.recovering.isFix })
}

/** True if a level that started after `from` attempts has itself retried an error. */
const isRepeatedSince = (
  { recovering: { repetitions } }: CallRecord,
  from: number,
  error: unknown,
  counts: (repetition: Repetition) => boolean = () => true
): boolean => {
  const within = repetitions?.filter((repetition) => repetition.attempt > from + 1 && counts(repetition)) ?? []
  const failure = failureOf(error)
  return within.length > 0 && (failure === undefined || within.some((repetition) => repetition.failure === failure))
}

/** Errors of attempts that were made again in vain, for the calls that their calls are made in. */
const exhausted = new WeakSet<object>()

/** Notes that an attempt has met the failure again that it was made after. */
export const noteExhausted = (record: CallRecord, error: object): void => {
  if (isRepeatedSince(record, 0, error)) exhausted.add(error)
}

/** True if a failure is one of an inner call that was retried in vain. */
const isExhaustedWithin = (error: unknown): boolean =>
  (error instanceof ExecutionError || error instanceof OutcomeUnknown) &&
  (exhausted.has(error.reason as object) || isExhaustedWithin(error.reason))

/** True if a layer within the last attempt has given its error up: a call made by the executor, or a request of it. */
const isGivenUpWithin = (record: CallRecord, error: unknown): boolean =>
  isExhaustedWithin(error) || isRetried(error, record.attempts.moment)

/** True if the last attempt was made with these arguments, and its error was given up. */
export const isGivenUp = (record: CallRecord, args: unknown): boolean =>
  record.attempts.requested?.arguments === args && isGivenUpWithin(record, record.outcome.lastError)

/**
 * The one rule of all retries: whether an error was retried by a layer within, for the same reason. `from`: the attempts before
 * the first one that the layer which asks has seen.
 */
export const isRetriedWithin = (record: CallRecord, from: number, error: unknown): boolean =>
  isGivenUpWithin(record, error) || isRepeatedSince(record, from, error, ({ isFix }) => !isFix)

/** True if an inner level has decided about an error. */
export const isDecided = ({ recovering: { decided } }: CallRecord, error: unknown): boolean =>
  decided?.has(error) === true

/** True if an inner level rethrows an error by name. */
export const isRethrown = ({ recovering: { decided } }: CallRecord, error: unknown): boolean =>
  decided?.get(error) === "rethrown"

/** Notes that a level rethrows an error: no level around it retries or fixes it. */
export const rethrowError = (record: CallRecord, error: unknown): void => {
  decide(record, error, "rethrown")
}

/** Notes that a level has repeated an error in vain, if it did. It began after `from` attempts. */
export const decideLevel = (record: CallRecord, from: number, error: unknown): void => {
  if (isDecided(record, error) || !isRepeatedSince(record, from, error)) return
  decide(record, error, "repeated")
}

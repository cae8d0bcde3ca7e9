/** Attempts of a call: how many there were, what the last one was asked to do, and how the failed ones failed. */
import type { FailedAttempt } from "../../../ToolError.ts"
import type { ToolInfo } from "../toolInfo.ts"

export interface Attempts {
  /** The tool that the call is of: of the last attempt, once there is one. */
  readonly tool: ToolInfo | undefined
  /** Attempts since the run was resumed. */
  readonly count: number
  /** Attempts that were announced before the run paused: numbers continue behind them. */
  readonly countBefore: number
  /** What the last attempt was asked to do. */
  readonly requested: { readonly arguments: unknown; readonly idempotency?: unknown } | undefined
  /** The moment at which the last attempt started: later marks of `foundation/retried.ts` are of layers within it. */
  readonly moment: number
  /** The failed attempts. */
  readonly causes: ReadonlyArray<FailedAttempt>
  /** When the last one failed, in milliseconds since the epoch. */
  readonly lastFailureAt: number | undefined
  /** Set when a fixer answered: the next attempt is the fix's, and no retry. */
  readonly isFix: boolean
  /** Set when a `Recovery.retry` makes the next attempt: it has checked all rules, and the retry budget of the process has paid. */
  readonly isRetryPaid: boolean
}

const none: ReadonlyArray<FailedAttempt> = []

class State implements Attempts {
  tool: Attempts["tool"] = undefined
  count = 0
  countBefore = 0
  requested: Attempts["requested"] = undefined
  moment = 0
  causes = none
  lastFailureAt: Attempts["lastFailureAt"] = undefined
  isFix = false
  isRetryPaid = false
}

interface Has {
  readonly attempts: Attempts
}

/** The attempts of a call that starts. */
export const newAttempts = (): Attempts => new State()

const own = (record: { readonly attempts: State }): State => record.attempts

/** Notes the tool that the call is of, or that executes it. */
export const setTool = (record: Has, tool: ToolInfo | undefined): void => {
  own(record).tool = tool
}

/** Counts an attempt; returns its number since the run was resumed. */
export const startAttempt = (record: Has): number => ++own(record).count

/** Counts no attempt: nothing was tried, and the next attempt is the first. */
export const forgetAttempts = (record: Has): void => {
  own(record).count = 0
}

/** Notes how many attempts were announced before the run paused. */
export const continueAfter = (record: Has, attempts: number): void => {
  own(record).countBefore = attempts
}

/** Notes what an attempt is asked to do. */
export const noteRequested = (record: Has, requested: NonNullable<Attempts["requested"]>): void => {
  own(record).requested = requested
}

/** Notes the moment at which an attempt starts. */
export const noteMoment = (record: Has, moment: number): void => {
  own(record).moment = moment
}

/** Notes the failure of an attempt. */
export const noteFailure = (record: Has, cause: FailedAttempt, at: number): void => {
  const state = own(record)
  state.causes = [...state.causes, cause]
  state.lastFailureAt = at
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
  const state = own(record)
  const { isRetryPaid } = state
  if (state.isFix) state.isFix = false
  if (isRetryPaid) state.isRetryPaid = false
  return isRetryPaid
}

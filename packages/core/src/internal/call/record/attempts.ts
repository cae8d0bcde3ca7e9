/** Attempts of a call: how many there were, and what the last one was asked to do. */
import type { ToolInfo } from "../tool/toolInfo.ts"

export interface Attempts {
  /** The tool that the call is of: of the last attempt, once there is one. */
  readonly tool: ToolInfo | undefined
  /** Attempts since the run was resumed. */
  readonly count: number
  /** Attempts that were announced before the run paused: numbers continue behind them. */
  readonly countBefore: number
  /** What the last attempt was asked to do. */
  readonly requested: { readonly arguments: unknown; readonly idempotency?: unknown } | undefined
  /** The moment at which the last attempt started: later marks of `foundation/effect/retriedFailures.ts` are of layers within it. */
  readonly moment: number
}

interface Has {
  readonly attempts: Attempts
}

/** The record of the call holds these fields: each call writes them. */
const own = (record: { readonly attempts: { -readonly [K in keyof Attempts]: Attempts[K] } }) => record.attempts

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

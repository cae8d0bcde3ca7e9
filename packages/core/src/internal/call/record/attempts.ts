/** Attempts of a call: their number, and the request of the last one. */
import type { ToolInfo } from "../tool/toolInfo.ts"

export interface Attempts {
  /** The tool that the call is of: of the last attempt, once there is one. */
  readonly tool: ToolInfo | undefined
  /** Attempts since the run was resumed. */
  readonly count: number
  /** Attempts that were announced before the run paused: numbers continue behind them. */
  readonly countBefore: number
  /** Request of the last attempt. */
  readonly requested: { readonly arguments: unknown; readonly idempotency?: unknown } | undefined
  /** The moment at which the last attempt started: later marks of `foundation/effect/retriedFailures.ts` are of layers within it. */
  readonly moment: number
}

interface Has {
  readonly attempts: Attempts
}

/** The fields of a new record. The number of attempts before a pause is on the prototype, until a record gets its own. */
export class AttemptFields {
  readonly tool: Attempts["tool"] = undefined
  readonly count = 0
  readonly requested: Attempts["requested"] = undefined
  readonly moment = 0
  /** The fields of this object. */
  readonly attempts = this as unknown as Attempts

  static {
    Object.assign(this.prototype, { countBefore: 0 } satisfies Partial<Attempts>)
  }
}

/** The record of the call holds these fields: each call writes them. */
const own = (record: { readonly attempts: { -readonly [K in keyof Attempts]: Attempts[K] } }) => record.attempts

/** Notes the tool that the call is of, or that executes it. */
export const setTool = (record: Has, tool: ToolInfo | undefined): void => {
  own(record).tool = tool
}

/**
 * Counts an attempt, and records its request and the moment at which it starts; returns its number since the run was
 * resumed. An attempt that is replayed has no moment.
 */
export const startAttempt = (
  record: Has,
  requested: NonNullable<Attempts["requested"]>,
  moment = record.attempts.moment
): number => {
  const state = own(record)
  state.requested = requested
  state.moment = moment
  return ++state.count
}

/** Resets the count of attempts: none was made, and the next one is the first. */
export const forgetAttempts = (record: Has): void => {
  own(record).count = 0
}

/** Notes how many attempts were announced before the run paused. */
export const continueAfter = (record: Has, attempts: number): void => {
  own(record).countBefore = attempts
}

/** Outcome of a call: its executions, and the known effects. No later refusal reverts a start. */
import type * as Exit from "effect/Exit"
import { AttemptFields } from "./attempts.ts"

/** Effect of a call: no, unknown, or yes. */
export type Happened = "no" | "unknown" | "yes"

export interface Outcome {
  /** True if an attempt has reached the executor. */
  readonly executed: boolean
  /** Known effect of all attempts; unknown while one runs. */
  readonly happened: Happened
  /** Known effect of the ended attempts. */
  readonly known: Happened
  /** True if an execution that may have had an effect failed without a declaration that it was not done. */
  readonly isUndeclared: boolean
  /** Running executions and replacements: more than one if a call is raced with itself. */
  readonly running: number
  /** Number of running replacements. */
  readonly runningInPlace: number
  /** Start of the first attempt that is not known to have had no effect, in milliseconds since the epoch. */
  readonly startedAt: number
  /** The answer of the last attempt, if it gave one. */
  readonly answered: { readonly value: unknown } | undefined
  /** The last answer in the place of the call, if there is one. */
  readonly answeredInPlace: { readonly by: unknown; readonly value: unknown } | undefined
  /** The error of the last attempt, if it failed and its end is known. */
  readonly lastError: unknown
  /** End of a call, with all its recovery. Later inner calls do not start. */
  readonly ended: "succeeded" | "failed" | undefined
  /** Exit of the call with its tool's recovery, which its agent's recovery received. */
  readonly endedInTool: Exit.Exit<unknown, unknown> | undefined
  /** Exit of the call with its agent's recovery for its tool, which the one for all tools received. */
  readonly endedInAgent: Exit.Exit<unknown, unknown> | undefined
  /** True if the call was compensated. */
  readonly isCompensated: boolean
  /** Position of the last execution among the compensable writes of the run. */
  readonly position: number | undefined
}

interface Has {
  readonly outcome: Outcome
}

const unwritten = {
  isUndeclared: false,
  runningInPlace: 0,
  answeredInPlace: undefined,
  startedAt: 0,
  endedInTool: undefined,
  endedInAgent: undefined,
  isCompensated: false,
  position: undefined
} satisfies Partial<Outcome>

/** The fields of a new record. Those that most calls never write are on the prototype, until a record gets its own. */
export class OutcomeFields extends AttemptFields {
  readonly executed = false
  readonly happened: Outcome["happened"] = "no"
  readonly known: Outcome["known"] = "no"
  readonly running = 0
  readonly answered: Outcome["answered"] = undefined
  readonly lastError: unknown = undefined
  readonly ended: Outcome["ended"] = undefined
  /** The fields of this object. */
  readonly outcome = this as unknown as Outcome

  static {
    Object.assign(this.prototype, unwritten)
  }
}

/** The record of the call holds these fields: each call writes them. */
const own = (record: { readonly outcome: { -readonly [K in keyof Outcome]: Outcome[K] } }) => record.outcome

/** Forgets the end of the last attempt, because another one starts. */
export const forgetEnd = (record: Has): void => {
  const state = own(record)
  state.answered = undefined
  state.lastError = undefined
}

/** Records the start of an executor. Returns whether it is the first start that is not known to have had no effect. */
export const startExecution = (record: Has): boolean => {
  const state = own(record)
  const isFirst = state.happened === "no"
  state.executed = true
  state.running++
  state.happened = "unknown"
  return isFirst
}

/** Notes the time of the first start. */
export const noteStartedAt = (record: Has, at: number): void => {
  own(record).startedAt = at
}

/** Records the end of an execution, and the call's known effect since. */
export const endExecution = (record: Has, known: Happened): void => {
  const state = own(record)
  state.running--
  state.known = known
  state.happened = state.running > 0 ? "unknown" : known
}

/** Notes that an execution failed, and that its tool does not declare the failure as not done. */
export const noteUndeclared = (record: Has): void => {
  own(record).isUndeclared = true
}

/** Notes that something runs in the place of the call. */
export const startInPlace = (record: Has): void => {
  const state = own(record)
  state.running++
  state.runningInPlace++
  state.happened = "unknown"
}

/** Records the end of a replacement. `known` is the call's known effect since, `answer` its answer, if it gave one. */
export const endInPlace = (record: Has, known: Happened, answer: Outcome["answeredInPlace"]): void => {
  const state = own(record)
  state.runningInPlace--
  if (answer !== undefined) state.answeredInPlace = answer
  endExecution(record, known)
}

/** Notes the answer of an attempt. */
export const noteAnswer = (record: Has, answer: { readonly value: unknown }): void => {
  own(record).answered = answer
}

/** Notes the error of an attempt. */
export const noteError = (record: Has, error: unknown): void => {
  own(record).lastError = error
}

/** Notes that the last attempt gave no answer. */
export const forgetAnswer = (record: Has): void => {
  own(record).answered = undefined
}

/** Notes the effects of a call from another source than its executions here: a snapshot, a log, or the service itself. */
export const noteEffects = (record: Has, happened: Happened): void => {
  const state = own(record)
  state.happened = state.known = happened
}

/** Notes that the effects of a call are unknown, whatever its attempts have ended with. */
export const noteUnknown = (record: Has): void => {
  own(record).happened = "unknown"
}

/** Notes a failed attempt of an earlier execution of the run. */
export const replayOutcome = (
  record: Has,
  { executed, happened, startedAt }: {
    readonly executed: boolean
    readonly happened: Happened
    readonly startedAt: number
  }
): void => {
  const state = own(record)
  state.executed = executed
  state.happened = state.known = happened
  state.startedAt = startedAt
  state.answered = undefined
}

/** Notes whether the executor was reached: not by an execution that was rolled back, or that waits for an agent. */
export const noteExecuted = (record: Has, executed: boolean): void => {
  own(record).executed = executed
}

/** Returns an effect on the record: it takes a start back that has turned out to be another call's. */
export const keepEffects = (record: Has): () => void => {
  const { executed, happened, known } = record.outcome
  return () => {
    const state = own(record)
    state.executed = executed
    state.happened = happened
    state.known = known
  }
}

/** Notes that the call has ended with all its recovery. */
export const noteEnded = (record: Has, exit: Exit.Exit<unknown, unknown>): void => {
  own(record).ended = exit._tag === "Success" ? "succeeded" : "failed"
}

/** A level of recovery: the tool's own, or the agent's for the tool. */
export type LevelEnd = "endedInTool" | "endedInAgent"

/** Notes how a level has ended. */
export const noteLevelEnd = (record: Has, level: LevelEnd, exit: Exit.Exit<unknown, unknown>): void => {
  own(record)[level] = exit
}

/** Notes that the call is made again. */
export const reopen = (record: Has): void => {
  if (record.outcome.ended !== undefined) own(record).ended = undefined
}

/** Records that a call is compensated. */
export const noteCompensated = (outcome: { isCompensated: boolean }): void => {
  outcome.isCompensated = true
}

/** Records the position of an execution among the compensable writes of the run. */
export const notePosition = (record: Has, position: number | undefined): number | undefined =>
  own(record).position = position

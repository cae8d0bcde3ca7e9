/** Replay of a call: the failures that its run's log has not got yet, and the calls of before a pause. A call without both has no such state. */
import type { CallBeforePause } from "../../approval/snapshot.ts"
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

/** A call that had started before the run paused. */
export interface StartedBefore {
  readonly call: CallBeforePause
  /** True if it was made again since, and was answered. */
  readonly isMet: boolean
}

export interface Replay {
  /** Attempts that failed since the last entry of the call: its next entry has them. */
  readonly failures: ReadonlyArray<AttemptFailure>
  /** Writes that had started within the call before the run paused, by their identities. */
  readonly callsBeforePause: ReadonlyMap<string, StartedBefore> | undefined
}

class State implements Replay {
  failures: ReadonlyArray<AttemptFailure> = []
  callsBeforePause: Map<string, StartedBefore> | undefined = undefined
}

interface Has {
  readonly replay: Replay
}

/** The state of a call of which no earlier execution has left anything: one for all, until a call writes its own. */
export const noReplay: Replay = new State()

const own = (record: { replay: Replay }): State =>
  (record.replay === noReplay ? record.replay = new State() : record.replay) as State

/** Notes an attempt that failed. */
export const addFailure = (record: Has, failure: AttemptFailure): void => {
  const state = own(record)
  state.failures = [...state.failures, failure]
}

/** Returns the attempts that failed since the last entry of the call, for its next entry. */
export const takeFailures = (record: Has): ReadonlyArray<AttemptFailure> => {
  const { failures } = record.replay
  if (failures.length > 0) own(record).failures = []
  return failures
}

/** Keeps the calls that had started before the pause. Those without an outcome need not be met. */
export const setStartedBefore = (record: Has, calls: ReadonlyArray<CallBeforePause>): void => {
  own(record).callsBeforePause = new Map(
    calls.map((call) => [call.identity, { call, isMet: call.outcome === undefined }])
  )
}

/** Notes that one of them is made again, and answered. */
export const noteMatched = (record: Has, call: CallBeforePause): void => {
  own(record).callsBeforePause?.set(call.identity, { call, isMet: true })
}

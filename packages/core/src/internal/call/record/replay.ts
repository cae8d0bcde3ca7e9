/** Replay of a call: entries of earlier executions of its run. A call of a new run has none. */
import type { CallBeforePause } from "../../approval/snapshot.ts"
import type { AttemptError } from "../attemptError.ts"
import type { Earlier } from "../replay/storedWait.ts"
import type { Happened } from "./outcome.ts"

/** A failed attempt that the journal of the run has not got yet. */
export interface FailedBefore {
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
  /** Entries of earlier executions of the run about the call, once looked up. */
  readonly earlier: Earlier | undefined
  /** Attempts that failed since the last entry of the call. */
  readonly failedNow: ReadonlyArray<FailedBefore> | undefined
  /** Waits of this execution that the journal has. */
  readonly waited: number
  /** Writes that had started within the call before the run paused, by their identities. */
  readonly callsBeforePause: ReadonlyMap<string, StartedBefore> | undefined
}

class State implements Replay {
  earlier: Replay["earlier"] = undefined
  failedNow: Array<FailedBefore> | undefined = undefined
  waited = 0
  callsBeforePause: Map<string, StartedBefore> | undefined = undefined
}

interface Has {
  readonly replay: Replay
}

/** The state of a call of which no earlier execution has left anything: one for all, until a call writes its own. */
export const noReplay: Replay = new State()

const own = (record: { replay: Replay }): State =>
  (record.replay === noReplay ? record.replay = new State() : record.replay) as State

/** Stores the entries of earlier executions. */
export const keepEarlier = (record: Has, earlier: Earlier): Earlier => own(record).earlier = earlier

/** Notes an attempt that failed. */
export const noteFailedNow = (record: Has, failed: FailedBefore): void => {
  ;(own(record).failedNow ??= []).push(failed)
}

/** Returns the attempts that failed since the last entry of the call, for its next entry. */
export const takeFailedNow = (record: Has): ReadonlyArray<FailedBefore> | undefined => {
  const { failedNow } = record.replay
  if (failedNow !== undefined) own(record).failedNow = undefined
  return failedNow
}

/** Counts a wait of this execution; returns its number. */
export const startWait = (record: Has): number => ++own(record).waited

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

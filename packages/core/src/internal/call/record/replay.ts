/** Replay of a call: what earlier executions of its run have left of it. A call of a run that starts has none. */
import type { BegunCall } from "../../approval/snapshot.ts"
import type { AttemptError } from "../attemptError.ts"
import type { Earlier } from "../earlier.ts"
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
  readonly call: BegunCall
  /** Whether it was made again since, so that it was answered. */
  readonly isMet: boolean
}

export interface Replay {
  /** Whether an earlier execution of the run may have started the call of an agent. */
  readonly mayHaveBegun: boolean
  /** Whether it was looked for under the key that an earlier execution would have given it. */
  readonly isSought: boolean
  /** What earlier executions of the run left of the call, once it was looked for. */
  readonly earlier: Earlier | undefined
  /** Attempts that failed since the last wait that the journal has. */
  readonly failedNow: ReadonlyArray<FailedBefore> | undefined
  /** Waits of this execution that the journal has. */
  readonly waited: number
  /** Writes that had started within the call before the run paused, by their identities. */
  readonly begunBefore: ReadonlyMap<string, StartedBefore> | undefined
}

class State implements Replay {
  mayHaveBegun = false
  isSought = false
  earlier: Replay["earlier"] = undefined
  failedNow: Array<FailedBefore> | undefined = undefined
  waited = 0
  begunBefore: Map<string, StartedBefore> | undefined = undefined
}

interface Has {
  readonly replay: Replay
}

/** The state of a call of which no earlier execution has left anything: one for all, until a call writes its own. */
export const noReplay: Replay = new State()

const own = (record: { replay: Replay }): State =>
  (record.replay === noReplay ? record.replay = new State() : record.replay) as State

/** Notes that an earlier execution may have started the call. */
export const noteMayHaveBegun = (record: Has): void => {
  own(record).mayHaveBegun = true
}

/** Notes that the call was looked for under its earlier key. */
export const noteSought = (record: Has): void => {
  own(record).isSought = true
}

/** Keeps what earlier executions left. */
export const keepEarlier = (record: Has, earlier: Earlier): Earlier => own(record).earlier = earlier

/** Notes an attempt that failed. */
export const noteFailedNow = (record: Has, failed: FailedBefore): void => {
  ;(own(record).failedNow ??= []).push(failed)
}

/** Returns the attempts that failed since the last wait, for the entry of this wait, and the number of the wait. */
export const takeFailedNow = (record: Has): { readonly failed: ReadonlyArray<FailedBefore>; readonly nth: number } => {
  const state = own(record)
  const failed = state.failedNow ?? []
  state.failedNow = undefined
  return { failed, nth: ++state.waited }
}

/** Keeps the calls that had started before the pause. Those without an outcome need not be met. */
export const keepStartedBefore = (record: Has, calls: ReadonlyArray<BegunCall>): void => {
  own(record).begunBefore = new Map(
    calls.map((call) => [call.identity, { call, isMet: call.outcome === undefined }])
  )
}

/** Notes that one of them is made again, and answered. */
export const noteMetAgain = (record: Has, call: BegunCall): void => {
  own(record).begunBefore?.set(call.identity, { call, isMet: true })
}

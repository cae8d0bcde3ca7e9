/** Replay of a call: the calls within it that had started before its run paused. Most calls have none. */
import type { CallBeforePause } from "../../approval/snapshot.ts"

/** A call with its outcome before the pause. */
type CompletedCall = CallBeforePause & Required<Pick<CallBeforePause, "outcome">>

/** Calls that had started within a call of an agent before its run paused, by their identities. */
export class CallsBeforePause {
  private readonly calls: ReadonlyMap<string, CallBeforePause>
  /** Identities of those with an outcome that were not made again. Those without one need not be. */
  readonly unmatched: ReadonlySet<string>

  constructor(calls: ReadonlyArray<CallBeforePause>) {
    this.calls = new Map(calls.map((call) => [call.identity, call]))
    this.unmatched = new Set(calls.filter(({ outcome }) => outcome !== undefined).map(({ identity }) => identity))
  }

  has(identity: string): boolean {
    return this.calls.has(identity)
  }

  /** Returns a call that was completed. */
  completed(identity: string): CompletedCall | undefined {
    const call = this.calls.get(identity)
    return call?.outcome === undefined ? undefined : call as CompletedCall
  }

  /** Notes that a call was made again, and answered. */
  match(identity: string): void {
    ;(this.unmatched as Set<string>).delete(identity)
  }
}

export interface Replay {
  readonly callsBeforePause: CallsBeforePause | undefined
}

/** The state of a call with no such calls: one for all, until a call gets its own. */
export const noReplay: Replay = { callsBeforePause: undefined }

/** Keeps the calls that had started before the pause. */
export const setCallsBeforePause = (record: { replay: Replay }, calls: ReadonlyArray<CallBeforePause>): void => {
  record.replay = { callsBeforePause: new CallsBeforePause(calls) }
}

/** Stop of a call: it does not reach its executor, or waits there, whatever its recovery does. */
import type * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import { signal, signalOf } from "../foundation/effect/signal.ts"
import type { Call } from "./call.ts"
import { type CallRecord, forEachAround, type Stop } from "./record/record.ts"
import { setStop, setStopWithin } from "./record/admission.ts"

/** The signal of a stopped call. The call's record holds the stop, so that swallowing the signal does not help. */
export class CallStopped {
  readonly _tag = "CallStopped"
}

/** True if a reason is the stop of a call. */
export const isStop = (reason: Cause.Reason<unknown>): boolean => signalOf(reason) instanceof CallStopped

/** True if a call, or its outer call, may not run. */
export const isStopped = ({ gate, parent, admission: { stop } }: CallRecord): boolean =>
  stop !== undefined || (parent !== undefined && gate !== undefined && isStopped(parent))

/**
 * True if an attempt waits in the agent that is its tool: it resumes with the agent. Of several waiting ones it is the
 * first.
 */
export const waitsInAgent = ({ admission: { stop } }: CallRecord, attempt: number): boolean =>
  stop?._tag === "Nested" && stop.attempt === attempt

/** Stops a call that has been stopped, or that is made in one that was. */
export const repeatStop: Effect.Effect<never> = signal(new CallStopped())

/** Stops a call, and the calls of an agent that it is made in. The effect has stopped it when it is made. */
export const stopNow = ({ record }: Call, stop: Stop): Effect.Effect<never> => {
  setStop(record, stop)
  if (record.gate !== undefined) {
    const within = { ...stop, of: record }
    forEachAround(record, (around) => setStopWithin(around, within))
  }
  return repeatStop
}

/** Stops a call when it is run. */
export const stopped = (call: Call, stop: Stop): Effect.Effect<never> => Effect.suspend(() => stopNow(call, stop))

/** Verdicts of policies about a call that an earlier execution of the run has started: a stop of today does not take the start back. */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import type { PassThrough } from "../execute/effects.ts"
import type { AttemptError } from "../attemptError.ts"
import { type CallRecord, forEachAround, stopped } from "../record/record.ts"
import { clearStop } from "../record/admission.ts"
import { startsOf } from "./attemptedCall.ts"
import { refuseUnlessStarted, type Today } from "./resolveKey.ts"

type Attempting = Effect.Effect<unknown, AttemptError | PassThrough, unknown>

/** Takes a stop back, also from the calls around. */
const unstop = (record: CallRecord): void => {
  clearStop(record)
  forEachAround(record, (around) => {
    if (around.admission.stop?.of === record) clearStop(around)
  })
}

/** Lets policies decide about a call. If they stop one that an earlier execution has started, the call ends with its recorded outcome, or as unknown. */
export const stoppedUnlessStarted = <B>(
  today: Today,
  admitted: Effect.Effect<B, AttemptError | PassThrough, unknown>,
  then: (answer: B) => Attempting
): Attempting => {
  const { attempted, attempted: { attempt: { call, call: { record }, run } } } = today
  if (startsOf(run, attempted).length === 0) return Effect.flatMapEager(admitted, then)
  return Effect.matchCauseEffect(admitted, {
    onSuccess: then,
    onFailure: (cause) => {
      const { stop } = record.admission
      if (stop === undefined || stop.of !== undefined || !Cause.hasInterrupts(cause)) return Effect.failCause(cause)
      unstop(record)
      return refuseUnlessStarted(today, stopped(call, stop))
    }
  })
}

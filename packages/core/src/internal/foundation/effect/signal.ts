/**
 * Signals: values that end an effect past all recovery. They are interruptions and not defects: a defect turns the
 * typed failures of parallel effects into defects, and one that an interruption passes on the way ends the run.
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"

const Signal: Context.Reference<object | undefined> = Context.Reference<object | undefined>(
  "@recourse/core/Signal",
  { defaultValue: () => undefined }
)

/** Ends an effect with a signal. */
export const signal = (value: object): Effect.Effect<never> =>
  Effect.failCause(Cause.annotate(Cause.interrupt(), Context.make(Signal, value)))

/** The signal that a reason carries, if it is one. */
export const signalOf = (reason: Cause.Reason<unknown>): object | undefined =>
  Cause.isInterruptReason(reason) ? Context.get(Cause.reasonAnnotations(reason), Signal) : undefined

/** The first signal of a kind in a cause. */
export const signalIn = <A extends object>(
  cause: Cause.Cause<unknown>,
  is: (value: object) => value is A
): A | undefined => {
  for (const reason of cause.reasons) {
    const value = signalOf(reason)
    if (value !== undefined && is(value)) return value
  }
  return undefined
}

/** True if a reason is the interruption of a fiber, and not a signal. */
export const isInterruption = (reason: Cause.Reason<unknown>): boolean =>
  Cause.isInterruptReason(reason) && signalOf(reason) === undefined

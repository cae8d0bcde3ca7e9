/** Cause of a run: names the run in the stack of the error that ended it. */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"

/** Says of a cause which run it ended, above the places that effect knows: `Cause.pretty` and `runMain` print it. */
export const ofRun = <E>(cause: Cause.Cause<E>, name: string): Cause.Cause<E> =>
  Cause.fromReasons(cause.reasons.map((reason) => {
    if (Cause.isInterruptReason(reason)) return reason
    const parent = Context.getOrUndefined(Cause.reasonAnnotations(reason), Cause.StackTrace)
    const frame = { name, stack: () => undefined, parent }
    return reason.annotate(Context.make(Cause.StackTrace, frame), { overwrite: true })
  }))

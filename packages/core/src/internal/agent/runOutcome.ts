/** Outcome of a run: for its last event, and for the stack of the error that ended it. */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Exit from "effect/Exit"
import { Pause } from "../loop/pause.ts"
import { summaryOf } from "../run/runFailure.ts"

/** Says of a cause which run it ended, above the places that effect knows: `Cause.pretty` and `runMain` print it. */
export const ofRun = <E>(cause: Cause.Cause<E>, name: string): Cause.Cause<E> =>
  Cause.fromReasons(cause.reasons.map((reason) => {
    if (Cause.isInterruptReason(reason)) return reason
    const parent = Context.getOrUndefined(Cause.reasonAnnotations(reason), Cause.StackTrace)
    const frame = { name, stack: () => undefined, parent }
    return reason.annotate(Context.make(Cause.StackTrace, frame), { overwrite: true })
  }))

/** Returns how a run ended, for its last event. */
export const runOutcome = (exit: Exit.Exit<unknown, unknown>, runId: string, context: Context.Context<never>) =>
  Exit.isSuccess(exit)
    ? exit.value instanceof Pause
      ? { outcome: "paused" as const, pending: exit.value.pending }
      : { outcome: "success" as const, output: exit.value }
    : Exit.hasInterrupts(exit) && !exit.cause.reasons.some(Cause.isFailReason)
    ? { outcome: "interrupted" as const }
    : { outcome: "failure" as const, ...summaryOf(exit.cause, runId, context) }

/** Outcome of a run, for its last event. */
import * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import * as Exit from "effect/Exit"
import { Pause } from "../loop/pause.ts"
import { summaryOf } from "../run/runFailure.ts"

/** Returns how a run ended, for its last event. */
export const runOutcome = (exit: Exit.Exit<unknown, unknown>, runId: string, context: Context.Context<never>) =>
  Exit.isSuccess(exit)
    ? exit.value instanceof Pause
      ? { outcome: "paused" as const, pending: exit.value.pending }
      : { outcome: "success" as const, output: exit.value }
    : Exit.hasInterrupts(exit) && !exit.cause.reasons.some(Cause.isFailReason)
    ? { outcome: "interrupted" as const }
    : { outcome: "failure" as const, ...summaryOf(exit.cause, runId, context) }

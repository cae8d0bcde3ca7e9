/** Compensation of a run that has ended: another run, of the same agent, compensates a write of it. */
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { noRunMessages } from "../../run/runEntries.ts"
import type { Run } from "../../run/run.ts"
import type { EndedWrite, Limits } from "../runMode.ts"
import { compensateWrites } from "./compensateRun.ts"
import { type Compensates, compensatesOf } from "./compensationOptions.ts"

/** The declaration of the run that compensates: without caps, because a compensation has a time limit of its own. */
export const endedLimits = <R>(
  { compensates, name }: Limits<R>,
  { tools }: EndedWrite
): Limits<R> & { readonly compensates: Compensates } => ({
  name,
  caps: {},
  thresholds: undefined,
  isLevel: false,
  onExceeded: undefined,
  compensates: compensates ?? compensatesOf(name, {}, tools)!
})

/** The answer of the run: the outcome of the compensation, and the person who requested it. */
const answerOf = (run: Run, by: string | undefined) => {
  const { callId: _, tool: _tool, ...outcome } = run.writes.compensations[0]!
  return { ...outcome, ...(by === undefined ? undefined : { by }) }
}

/** The body of a run that compensates a write. An audit that cannot be written ends it. */
export const endedBody = (compensates: Compensates, { by, write }: EndedWrite) => ({
  run: (run: Run) =>
    // A compensation that has started is not interrupted.
    Effect.uninterruptible(
      Effect.contextWith((ambient: Context.Context<never>) => {
        run.writes.completed!.restore(run, [write])
        return Effect.flatMap(
          compensateWrites({ run, compensates, ambient, onCompensated: () => {} }, false),
          (broken) => broken === undefined ? Effect.sync(() => answerOf(run, by)) : Effect.failCause(broken)
        )
      })
    ),
  said: () => noRunMessages
})

/**
 * Cancelled replay: a resumed run that is cancelled starts no call behind its journal, and waits there to be
 * interrupted.
 */
import * as Effect from "effect/Effect"
import type { Journal } from "../../Journal.ts"
import type { Run } from "./run.ts"

/** True if a run is cancelled in an execution that replays earlier ones from its journal. */
export const isCancelledReplay = (journal: Journal | undefined): boolean =>
  journal?.isResumed === true && journal.isCancelled?.() === true

/** The journal of an abandoned run: it starts no call, and its writes are compensated like those of a cancelled one. */
export const abandonedJournal = (runId: string, journal: Journal | undefined): Journal =>
  journal === undefined
    ? {
      runId,
      isResumed: true,
      isCancelled: () => true,
      elapsedBefore: 0,
      find: () => undefined,
      entries: () => [],
      record: () => Effect.void,
      claim: (entry) => entry
    }
    : Object.create(journal, { isResumed: { value: true }, isCancelled: { value: () => true } }) as Journal

/** Without an interruption, or in an uninterruptible region, it ends as if interrupted. */
const held: Effect.Effect<never> = Effect.andThen(Effect.sleep("1 second"), Effect.interrupt)

/** Waits if the run may not continue here. */
export const waitForCancellation = (run: Run | undefined): Effect.Effect<never> | undefined =>
  isCancelledReplay(run?.journal) ? held : undefined

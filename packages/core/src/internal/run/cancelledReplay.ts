/** Held back: a resumed run that is cancelled begins nothing behind its journal, and waits there to be interrupted. */
import * as Effect from "effect/Effect"
import type { Journal } from "../../Journal.ts"
import type { Run } from "./run.ts"

/** Whether a run is cancelled in a life that takes from its journal what earlier ones have done. */
export const isCancelledReplay = (journal: Journal | undefined): boolean =>
  journal?.isResumed === true && journal.isCancelled?.() === true

/** The journal of a run that nobody goes on with: it begins nothing, and what it has done is undone as if it had been cancelled. */
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

/** Where nobody interrupts it, or nothing can, it ends as if it had been interrupted. */
const held: Effect.Effect<never> = Effect.andThen(Effect.sleep("1 second"), Effect.interrupt)

/** Waits, where the run may not go on here. */
export const waitForCancellation = (run: Run | undefined): Effect.Effect<never> | undefined =>
  isCancelledReplay(run?.journal) ? held : undefined

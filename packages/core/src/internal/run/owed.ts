/** Owed: agents within a run that waited, and that nobody goes on with, are undone. */
import * as Effect from "effect/Effect"
import type { Run } from "./run.ts"

/** Undoes them. Nothing stops it: each undoing is bounded in time. */
export const settleOwed = (run: Run): Effect.Effect<void> =>
  run.owed.length === 0
    ? Effect.void
    : Effect.uninterruptible(Effect.suspend(() => Effect.forEach(run.owed.splice(0), (one) => one, { discard: true })))

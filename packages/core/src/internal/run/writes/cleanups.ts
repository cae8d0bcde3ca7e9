/** Cleanup: agents within a run that waited, or were cut off, and that nobody goes on with, are undone. */
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { Cleanup } from "../nestedRuns.ts"
import type { Run } from "../run.ts"

const settle = (owed: ReadonlyArray<Cleanup>): Effect.Effect<void> =>
  Effect.uninterruptible(Effect.forEach(owed, ({ context, end }) => within(context, end), { discard: true }))

const within = (context: Context.Context<never>, end: Cleanup["end"]): Effect.Effect<void> =>
  Effect.provideContext(end, context as Context.Context<unknown>)

/** Undoes them. Nothing stops it: each undoing is bounded in time. */
export const runCleanups = (run: Run): Effect.Effect<void> =>
  !run.nested.owes ? Effect.void : Effect.suspend(() => settle(run.nested.takeOwed()))

/** Undoes those that were cut off in the place of a run that begins: an attempt of a call, as another one follows. */
export const runCleanupsBefore = ({ parent, scope }: Run): Effect.Effect<void> => {
  if (parent === undefined || !parent.nested.owes) return Effect.void
  return Effect.suspend(() =>
    settle(parent.nested.takeOwed((one) => one.scope === scope || one.scope?.startsWith(`${scope}/`) === true))
  )
}

/** Owed: agents within a run that waited, or were cut off, and that nobody goes on with, are undone. */
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { Owed, Run } from "./run.ts"

const settle = (owed: ReadonlyArray<Owed>): Effect.Effect<void> =>
  Effect.uninterruptible(Effect.forEach(owed, ({ context, end }) => within(context, end), { discard: true }))

const within = (context: Context.Context<never>, end: Owed["end"]): Effect.Effect<void> =>
  Effect.provideContext(end, context as Context.Context<unknown>)

/** Undoes them. Nothing stops it: each undoing is bounded in time. */
export const settleOwed = (run: Run): Effect.Effect<void> =>
  run.owed.length === 0 ? Effect.void : Effect.suspend(() => settle(run.owed.splice(0)))

/** Undoes those that were cut off in the place of a run that begins: an attempt of a call, as another one follows. */
export const settleBefore = ({ parent, scope }: Run): Effect.Effect<void> => {
  if (parent === undefined || parent.owed.length === 0) return Effect.void
  return Effect.suspend(() => {
    const isBefore = (one: Owed) => one.scope === scope || one.scope?.startsWith(`${scope}/`) === true
    const before = parent.owed.filter(isBefore)
    const others = parent.owed.filter((one) => !isBefore(one))
    parent.owed.splice(0, parent.owed.length, ...others)
    return settle(before)
  })
}

/** Cleanup: compensates abandoned agents within a run that were paused or interrupted. */
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { Cleanup, Run } from "../run.ts"

const settle = (cleanups: ReadonlyArray<Cleanup>): Effect.Effect<void> =>
  Effect.uninterruptible(Effect.forEach(cleanups, ({ context, end }) => within(context, end), { discard: true }))

const within = (context: Context.Context<never>, end: Cleanup["end"]): Effect.Effect<void> =>
  Effect.provideContext(end, context as Context.Context<unknown>)

/** Compensates them. It is uninterruptible: each compensation is bounded in time. */
export const runCleanups = (run: Run): Effect.Effect<void> => Effect.suspend(() => settle(run.nested.takeCleanups()))

/** Compensates interrupted runs at the path of a starting run: an attempt of a call follows another one. */
export const runCleanupsBefore = ({ scope }: Run, parent: Run): Effect.Effect<void> =>
  Effect.suspend(() =>
    settle(parent.nested.takeCleanups((one) => one.scope === scope || one.scope?.startsWith(`${scope}/`) === true))
  )

/** Cancellation of runs, with the runs that they have started. */
import * as Effect from "effect/Effect"
import { countEnded } from "./counting.ts"
import type { RunStoreError, Store } from "../store/store.ts"

type Cancelling = Pick<Store, "cancel" | "children" | "get">

/** Cancels a run alone. */
const cancelAlone = Effect.fnUntraced(
  function*(store: Cancelling, runId: string): Effect.fn.Return<boolean, RunStoreError> {
    const isCancelled = yield* store.cancel(runId)
    const run = isCancelled ? yield* store.get(runId) : undefined
    // An owned run is counted by its owner.
    if (run?.status === "cancelled") yield* countEnded({ agent: run.agent, status: "cancelled" })
    return isCancelled
  }
)

/** Cancels the runs that a run has started, and those that they have started. */
export const cancelChildren = Effect.fnUntraced(
  function*(store: Cancelling, runId: string): Effect.fn.Return<void, RunStoreError> {
    // The id of a purged run may name a child of its own child.
    const all = new Set([runId])
    for (const parent of all) {
      for (const child of yield* store.children(parent)) {
        if (all.has(child)) continue
        yield* cancelAlone(store, child)
        all.add(child)
      }
    }
  }
)

/** Cancels a run, and the runs that it has started. Returns `false` if it has ended. */
export const cancelRun = (store: Cancelling, runId: string): Effect.Effect<boolean, RunStoreError> =>
  Effect.tap(cancelAlone(store, runId), () => cancelChildren(store, runId))

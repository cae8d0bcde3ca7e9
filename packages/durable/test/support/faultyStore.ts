/** A store that fails a process at drawn operations. */
import { Clock, Effect } from "effect"
import { RunStore } from "@recourse/durable"

/**
 * A store's fault for one process at one of its operations: it fails, dies, loses its answer, is suspended for a while,
 * is unreachable for a while (others reach it), or answers late.
 */
export interface Fault {
  readonly at: number
  readonly fault: "fails" | "dies" | "lost" | "frozen" | "gone" | "slow"
}

/** A process's view of a store. A frozen one executes its request when it wakes: others have taken over by then. */
export const faulty = (store: RunStore.Store, faults: ReadonlyArray<Fault>): RunStore.Store => {
  let operations = 0
  let frozenUntil = 0
  let goneUntil = 0
  const at = <A>(operation: string, effect: Effect.Effect<A, RunStore.RunStoreError>) =>
    Effect.gen(function*() {
      operations++
      const fault = faults.find(({ at }) => at === operations)?.fault
      const now = yield* Clock.currentTimeMillis
      if (fault === "frozen") frozenUntil = now + 40_000
      if (frozenUntil > now) yield* Effect.sleep(frozenUntil - now)
      const failure = new RunStore.RunStoreError({ operation, reason: "drawn" })
      if (fault === "gone") goneUntil = now + 40_000
      if (goneUntil > now) return yield* Effect.fail(failure)
      if (fault === "fails") return yield* Effect.fail(failure)
      // A transaction whose connection is gone cannot be rolled back: a client may die of that.
      if (fault === "dies") return yield* Effect.die(new Error("no connection"))
      const done = yield* effect
      if (fault === "slow") yield* Effect.sleep("20 seconds")
      return fault === "lost" ? yield* Effect.fail(failure) : done
    })
  return {
    ...store,
    take: (wanted) => at("take", store.take(wanted)),
    load: (run) => at("load", store.load(run)),
    append: (steps) => at("append", store.append(steps)),
    settle: (hold, settlement) => at("settle", store.settle(hold, settlement))
  }
}

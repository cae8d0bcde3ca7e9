/** Writer of steps: parallel entries of runs are written in one transaction. */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import { type Appended, RunStoreError, type Step, type Store } from "../store/store.ts"
import { storeRetry } from "../store/storeRetry.ts"

interface Waiting {
  readonly steps: ReadonlyArray<Step>
  readonly done: (result: Appended) => void
}

/** The result of several steps is that of the worst. */
const worse = (one: Appended, other: Appended): Appended =>
  one === "lost" || other === "lost" ? "lost" : one === "denied" ? one : other

/** Adds steps of runs. */
export interface Writer {
  /**
   * Takes steps of a run, at once: a caller that is interrupted while it waits has submitted them. It returns when all
   * are durable, in their order: `lost` if another process owns the run, `denied` if the run was cancelled before its
   * write started.
   */
  readonly add: (steps: ReadonlyArray<Step>) => Effect.Effect<Appended>
  /** Stops writing: steps of waiting callers are not added. For a runner that stops while the store does not answer. */
  readonly close: () => void
}

/**
 * A writer over a store. `run` runs its fiber. A failing store is called again as long as there is a waiter: a runner
 * whose leases have expired stops its runs, and its later writes are refused.
 */
export const make = (store: Store, run: (effect: Effect.Effect<void>) => void): Writer => {
  // One that dies is tried again, too: those who wait would wait for good.
  const appended = (batch: ReadonlyArray<Waiting>) =>
    Effect.catchDefect(
      store.append(batch.flatMap(({ steps }) => steps)),
      (reason) => Effect.fail(new RunStoreError({ operation: "append", reason }))
    )
  let queue: Array<Waiting> = []
  let writing: ReadonlyArray<Waiting> = []
  let isWriting = false
  let isClosed = false
  const next = (): Effect.Effect<void> => {
    const batch = queue
    queue = []
    writing = batch
    if (batch.length === 0) {
      isWriting = false
      return Effect.void
    }
    return Effect.flatMap(
      Effect.orElseSucceed(
        Effect.retry(appended(batch), { schedule: storeRetry, while: () => !isClosed }),
        (): ReadonlyArray<Appended> => []
      ),
      (added) => {
        let first = 0
        for (const { done, steps } of batch) {
          done(steps.reduce((worst: Appended, _, index) => worse(worst, added[first + index] ?? "lost"), "added"))
          first += steps.length
        }
        return write
      }
    )
  }
  // Runs that are ready to record come first: a store that answers at once would have each step alone.
  const write: Effect.Effect<void> = Effect.flatMap(Effect.yieldNow, next)
  return {
    add: (steps) => {
      if (isClosed) return Effect.succeed("lost")
      const added = Deferred.makeUnsafe<Appended>()
      queue.push({ steps, done: (result) => Deferred.doneUnsafe(added, Effect.succeed(result)) })
      if (!isWriting) {
        isWriting = true
        run(write)
      }
      return Deferred.await(added)
    },
    close: () => {
      isClosed = true
      for (const { done } of [...writing, ...queue]) done("lost")
      queue = []
    }
  }
}

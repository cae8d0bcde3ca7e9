/**
 * Tests of leases by a real clock. A process that is suspended for longer than its lease has lost it, and so has a test
 * on a busy machine. A failure with a short lease is retried with longer ones, and a broken rule fails with all.
 */
import { Effect } from "effect"

const leases = [300, 2000, 6000]

/** The same for tests of processes. */
export const forProcessLeases = async (test: (lease: number) => Promise<void>): Promise<void> => {
  for (const lease of [2000, 8000]) {
    try {
      return await test(lease)
    } catch {
      // The machine may have been too busy for it.
    }
  }
  await test(20_000)
}

/**
 * Runs a test for a short lease in milliseconds, and for longer ones only after a failure. `attempt` makes names
 * differ.
 */
export const forLeases = <A, E, R>(
  test: (lease: number, attempt: string) => Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  leases.slice(1).reduce(
    (before, lease) => Effect.catchCause(before, () => Effect.suspend(() => test(lease, `after ${lease} ms`))),
    Effect.suspend(() => test(leases[0]!, "first"))
  )

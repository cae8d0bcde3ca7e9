/** Drawn run ids: default keys that no other process can find again, in a ledger that outlives the process. */
import * as Effect from "effect/Effect"
import type { Idempotency } from "../../idempotency/idempotencyOptions.ts"
import type { IdempotencyLedger } from "../../idempotency/ledgerService.ts"
import type { Run } from "../../run/run.ts"

/** The ledgers that have been warned of. */
const warned = new WeakSet<IdempotencyLedger["Service"]>()

/**
 * Warns once for each ledger if a key is made of a run id that was drawn: after a crash the program starts a run with another id, and its
 * writes are done again. A journal has the id, and a chat's thread has its started writes.
 */
export const warnOfDrawnId = (
  ledger: IdempotencyLedger["Service"],
  { id, key }: Idempotency,
  run: Run | undefined,
  tool: string
): Effect.Effect<void> => {
  const survives = key !== undefined || id !== undefined || run?.start.hasDrawnId !== true ||
    run.log !== undefined ||
    run.writes.log !== undefined
  if (survives || ledger.isPersistent !== true || warned.has(ledger)) return Effect.void
  warned.add(ledger)
  return Effect.logWarning(
    `The idempotency key of tool "${tool}" does not survive a restart: it is made of a run id that was drawn. ` +
      "Pass the same `runId` to each execution of the run, or give the tool's `idempotency` a `key`"
  )
}

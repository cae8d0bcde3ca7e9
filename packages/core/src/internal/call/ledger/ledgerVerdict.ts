/** Verdict of the ledger under `Recovery.idempotent`. */
import type { AttemptError } from "../attemptError.ts"

/** The signal of the ledger's refusal under `Recovery.idempotent`: recovery within that operator does not see it. */
export class LedgerVerdict {
  readonly error: AttemptError
  constructor(error: AttemptError) {
    this.error = error
  }
}

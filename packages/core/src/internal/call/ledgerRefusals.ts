/** Errors of an attempt that the idempotency ledger refuses. */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { IdempotencyConflict, LedgerUnavailable, OutcomeUnknown } from "../../ToolError.ts"
import { signal } from "../foundation/effect/signal.ts"
import { type Attempt, failAttempt } from "./attemptLog.ts"
import type { Refusals } from "./ledger/keyedAttempt.ts"
import { LedgerVerdict } from "./ledger/ledgerLookup.ts"
import type { AttemptError } from "./attemptError.ts"
import type { ErrorFields } from "./record/record.ts"

/** Fails the attempt for each refusal. If `Recovery.idempotent` gave the key, the error is a signal that this operator turns into its failure. */
export const ledgerRefusals = (attempt: Attempt): Refusals<AttemptError> => {
  const refused = (error: string, make: (fields: ErrorFields) => AttemptError) =>
    attempt.call.idempotency === undefined
      ? failAttempt(attempt, { error }, make)
      : Effect.catch(failAttempt(attempt, { error }, make), (error) => signal(new LedgerVerdict(error)))
  return {
    conflict: (entry) => refused("IdempotencyConflict", (fields) => new IdempotencyConflict({ ...fields, entry })),
    unavailable: (reason) => refused("LedgerUnavailable", (fields) => new LedgerUnavailable({ ...fields, reason })),
    unknown: (since) =>
      refused("OutcomeUnknown", (fields) => new OutcomeUnknown({ ...fields, after: Duration.millis(since) }))
  }
}

/** Claims of one key of the ledger, and outcomes of calls under it. */
import type { IdempotencyLedger } from "@recourse/core"

export const intent = (claim: string): IdempotencyLedger.Intent => ({
  id: "k",
  tool: "pay",
  callId: `call of ${claim}`,
  arguments: "hash",
  claim
})

export const paid: IdempotencyLedger.Outcome = { _tag: "Result", value: "paid" }

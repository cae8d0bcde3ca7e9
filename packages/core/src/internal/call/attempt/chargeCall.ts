/** Step of an attempt: charges the call to the budget of the run. A call that may not run is not charged: another attempt may have started since. */
import { before } from "../../foundation/effect/sequence.ts"
import { mayRunAgain } from "../call.ts"
import { notInLedger } from "../ledger/ledgerLookup.ts"
import { refuse } from "../refusal.ts"
import { isStopped, repeatStop } from "../stop.ts"
import type { Step } from "./attemptState.ts"

export const chargeCall: Step = (next) => (attempt) => {
  const { call, run } = attempt
  if (call.lookupOnly === true) return notInLedger
  if (run === undefined || !attempt.isNew) return next(attempt)
  if (isStopped(call.record)) return repeatStop
  if (!mayRunAgain(call)) return refuse(call, run)
  return before(run.account.chargeNow("toolCalls"), () => next(attempt))
}

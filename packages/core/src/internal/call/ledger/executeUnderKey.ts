/** Execution of a call under its claim. */
import * as Effect from "effect/Effect"
import type { Claim } from "../../idempotency/claims.ts"
import { dropClaim, endHold, finishAsking, holdClaim } from "../record/claiming.ts"
import { closeClaim } from "./closeClaim.ts"
import type { KeyedAttempt, UnderKey } from "./keyedAttempt.ts"
import { reportFate } from "./reportLedger.ts"

/** Executes only while the key is this call's: a process that slept may have lost it. */
const confirmed = (keyed: KeyedAttempt, claim: Claim, isAgain: boolean): UnderKey => {
  const { asking, execute, identity, refusals } = keyed
  return Effect.flatMap(
    Effect.catch(claim.confirm, (error) => keyed.unavailable(error)),
    (isClaimed): UnderKey => {
      if (isClaimed) return execute(identity.key, isAgain)
      dropClaim(asking.call.record)
      keyed.move("lose")
      return Effect.andThen(reportFate(asking, "lost"), refusals.unknown(0))
    }
  )
}

/**
 * Executes a call, and closes its claim. The attempt is counted as a holder of the claim at once, so that no other attempt releases the claim too early. The
 * effect is run, once.
 */
export const executeUnderKey = (keyed: KeyedAttempt, claim: Claim, isAgain = false): UnderKey => {
  const { asking: { call: { record } }, restore } = keyed
  holdClaim(record, claim)
  finishAsking(record)
  return Effect.onExit(restore(confirmed(keyed, claim, isAgain)), (exit) => {
    endHold(record)
    return closeClaim(keyed, claim, exit)
  })
}

/** Execution of a call under its claim. */
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import type { Claim } from "../../idempotency/claims.ts"
import { dropClaim, endHold, finishAsking, holdClaim, settle, startAsking } from "../record/claiming.ts"
import type { KeyedAttempt, UnderKey } from "./keyedAttempt.ts"
import { quietly, reportFate } from "./reportLedger.ts"
import type { Outcome, Recorded } from "../../idempotency/ledgerStore.ts"
import type { CallRecord } from "../record/record.ts"
import { storedOutcome } from "./storedOutcome.ts"
import { isOnlyLookedFor } from "./ledgerLookup.ts"

/** Gives the claim up. An attempt that comes before that is done waits: it would find a key that no attempt is at work under. */
const closing = (record: CallRecord, closed: Effect.Effect<void>): Effect.Effect<void> => {
  dropClaim(record)
  const mine = startAsking(record)
  return Effect.onExit(closed, () => Effect.sync(() => finishAsking(record, mine)))
}

const released = (keyed: KeyedAttempt, claim: Claim): Effect.Effect<void> => {
  const { asking, asking: { call } } = keyed
  keyed.end("release")
  // Another attempt of the call is at work under the claim.
  return call.record.claiming.holders > 0
    ? Effect.void
    : closing(call.record, Effect.flatMap(quietly(asking, "release")(claim.release), () => settle(call)))
}

const recorded = ({ asking, idempotency }: KeyedAttempt, claim: Claim, outcome: Outcome): Effect.Effect<Recorded> =>
  Effect.suspend(() => {
    let fate: Recorded = "recorded"
    const complete = Effect.map(claim.complete(outcome, idempotency.timeToLive), (became) => {
      fate = became
    })
    return Effect.map(closing(asking.call.record, quietly(asking, "complete")(complete)), () => fate)
  })

const completed = (keyed: KeyedAttempt, fate: Recorded): Effect.Effect<void, unknown> => {
  const { asking, asking: { call }, refusals } = keyed
  keyed.end(fate === "lost" ? "lose" : "record")
  if (fate === "recorded") return settle(call)
  return Effect.andThen(
    Effect.andThen(reportFate(asking, fate), settle(call)),
    // Another process may have done it, too: the result of this call is not that of the key.
    fate === "lost" ? refusals.unknown(0) : Effect.void
  )
}

/**
 * Records the outcome of an execution, or releases the key if no execution started, or if all started ones are known to
 * have had no effect.
 */
export const closeClaim = (
  keyed: KeyedAttempt,
  claim: Claim,
  exit: Exit.Exit<unknown, unknown>
): Effect.Effect<void, unknown, unknown> => {
  const { asking: { call: { record }, success } } = keyed
  if (record.outcome.happened === "no" || isOnlyLookedFor(exit)) return released(keyed, claim)
  return Effect.flatMap(
    Effect.catchTag(storedOutcome(success, exit, record), "SchemaError", () => Effect.undefined),
    (outcome) => {
      if (outcome !== undefined) {
        return Effect.flatMap(recorded(keyed, claim, outcome), (fate) => completed(keyed, fate))
      }
      keyed.end("doubt")
      return Effect.void
    }
  )
}

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

/** End of an execution under a key: its outcome is recorded, or the key is released. */
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import type { Claim } from "../../idempotency/claims.ts"
import type { Outcome, Recorded } from "../../idempotency/ledgerStore.ts"
import { dropClaim, finishAsking, settle, startAsking } from "../record/claiming.ts"
import type { CallRecord } from "../record/record.ts"
import { storedOutcome } from "./storedOutcome.ts"
import type { KeyedAttempt } from "./keyedAttempt.ts"
import { isOnlyLookedFor } from "./ledgerLookup.ts"
import { quietly, reportFate } from "./reportLedger.ts"

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

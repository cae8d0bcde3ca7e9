/**
 * Reconciliation of a call that was interrupted. Its entry is taken over first: from then on no other call starts it, so the answer of `reconcile` stays
 * true.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { Claim, Claimed } from "../../idempotency/claims.ts"
import { CheckedOutcomes } from "../../idempotency/checkedOutcomes.ts"
import type { Reconciliation } from "../../../Reconciliation.ts"
import type { Entry } from "../../idempotency/ledgerStore.ts"
import { recordStart } from "../execute/effects.ts"
import { encodedResult } from "../compensableWrite.ts"
import { keepEffects, noteAnswer, noteEffects, noteExecuted } from "../record/outcome.ts"
import { noteAnswered } from "./answerFromLedger.ts"
import { askService } from "./askService.ts"
import { closeClaim, executeUnderKey } from "./executeUnderKey.ts"
import type { Asking, KeyedAttempt, UnderKey } from "./keyedAttempt.ts"
import { reconciliationOf } from "./reconciliation.ts"

type Abandoned = Extract<Claimed, { readonly _tag: "Abandoned" }>

/** Replaces a `reconcile`: the service executes a key once. */
const sendAgain: Reconciliation<never> = { _tag: "NotStarted" }

/** The call has started under its key. Whatever comes after that, it is not reported as one that was not run. */
export const startedElsewhere = ({ call, run }: Asking, sinceMillis: number): Effect.Effect<void> =>
  Effect.map(Clock.currentTimeMillis, (now) => recordStart(run, call.record, "unknown", () => now - sinceMillis))

/** It happened: its result is that of the key. */
const happened = (keyed: KeyedAttempt, claim: Claim, entry: Entry, result: unknown): UnderKey => {
  const { asking: { call: { record }, success } } = keyed
  noteExecuted(record, true)
  noteEffects(record, "yes")
  noteAnswer(record, { value: result })
  return Effect.flatMap(encodedResult(success, result), (encoded) => {
    noteAnswered(keyed, result, entry, claim.intent.claim, encoded)
    return Effect.onExit(Effect.succeed(result), (exit) => closeClaim(keyed, claim, exit))
  })
}

/** It has not happened, or may be sent again: it is executed. */
const resumed = (keyed: KeyedAttempt, claim: Claim, sinceMillis: number): UnderKey =>
  Effect.flatMap(Effect.catch(claim.resume, (error) => keyed.unavailable(error)), (isClaimed) => {
    if (!isClaimed) return keyed.unknown(sinceMillis)
    keyed.move("resume")
    return executeUnderKey(keyed, claim)
  })

/** Continues with the answer about a call whose entry is taken over. */
const answered = (
  keyed: KeyedAttempt,
  { claim, entry, sinceMillis }: Abandoned,
  found: Reconciliation<unknown>,
  takeBack: () => void
): UnderKey => {
  const { isDeduplicated } = keyed.idempotency
  if (found._tag === "Completed") return happened(keyed, claim, entry, found.result)
  const isSentAgain = found === sendAgain || (found._tag === "Unknown" && isDeduplicated)
  if (found._tag === "Unknown" && !isSentAgain) return keyed.unknown(sinceMillis)
  // It is not known if a write that is sent again had happened.
  if (!isSentAgain) takeBack()
  return resumed(keyed, claim, sinceMillis)
}

/** Finds out about a call that was interrupted. `askAgain` asks the ledger once more. */
export const reconcileStart = (keyed: KeyedAttempt, abandoned: Abandoned, askAgain: () => UnderKey): UnderKey =>
  Effect.flatMap(CheckedOutcomes, (check): UnderKey => {
    const { asking, asking: { call: { record } }, idempotency: { isDeduplicated }, restore } = keyed
    const { claim, entry, sinceMillis } = abandoned
    const reconcile = reconciliationOf(keyed, check, entry)
    if (reconcile === undefined && !isDeduplicated) {
      return Effect.andThen(startedElsewhere(asking, sinceMillis), keyed.unknown(sinceMillis))
    }
    const takeBack = keepEffects(record)
    const taking = Effect.catch(claim.take(entry), (error) => keyed.unavailable(error))
    return Effect.flatMap(Effect.andThen(startedElsewhere(asking, sinceMillis), taking), (taken): UnderKey => {
      // Another call has taken it in the meantime: this call waits for that one.
      if (!taken) {
        takeBack()
        keyed.move("yield")
        return askAgain()
      }
      keyed.move("take")
      const asked = reconcile === undefined ? Effect.succeed(sendAgain) : restore(askService(reconcile, asking))
      return Effect.flatMap(asked, (found) => answered(keyed, abandoned, found, takeBack))
    })
  })

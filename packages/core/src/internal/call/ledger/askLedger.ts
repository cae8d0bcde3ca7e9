/** Question to the ledger: may the call run under its key? One attempt of a call asks for all. */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import { randomId } from "../../foundation/digest.ts"
import type { Claimed } from "../../idempotency/claims.ts"
import { IdempotencyLedger } from "../../idempotency/ledgerService.ts"
import type { Intent, LedgerError } from "../../idempotency/ledgerStore.ts"
import { warnOfDrawnId } from "./drawnRunId.ts"
import { dropClaim, finishAsking, keepSettle, noteEntry, settle, startAsking } from "../record/claiming.ts"
import { answerFromLedger } from "./answerFromLedger.ts"
import { executeUnderKey } from "./executeUnderKey.ts"
import { claimantOf } from "./identifyCall.ts"
import type { KeyedAttempt, UnderKey } from "./keyedAttempt.ts"
import { reconcileStart, startedElsewhere } from "./reconcileStart.ts"

/**
 * Name of the claim: the same in each execution of a run, which repeats the call under its key, unless it can
 * reconcile.
 */
const holderOf = (
  { asking: { call: { record }, run }, idempotency, identity }: KeyedAttempt
): Effect.Effect<string> => {
  // The claim that the call had before it was left: no other call has it under this name.
  const before = record.claiming.claim
  return before !== undefined
    ? Effect.succeed(before.intent.claim)
    : idempotency.reconcile === undefined && run?.log !== undefined
    ? Effect.succeed(run.log.claim(identity.id))
    : randomId
}

/** Claims the key in the ledger. */
const claim = (keyed: KeyedAttempt): Effect.Effect<Claimed, LedgerError> => {
  const { asking, asking: { call, run, tool }, idempotency, identity } = keyed
  return Effect.flatMap(holderOf(keyed), (claim) => {
    const intent: Intent = { id: identity.id, tool, callId: call.id, arguments: identity.hash, claim }
    return Effect.flatMap(IdempotencyLedger, (ledger) =>
      Effect.andThen(
        warnOfDrawnId(ledger, idempotency, run, tool),
        () => ledger.claim(intent, (settle) => keepSettle(call.record, settle), claimantOf(idempotency, asking))
      ))
  }) as Effect.Effect<Claimed, LedgerError>
}

const answered = (keyed: KeyedAttempt, answer: Claimed): UnderKey => {
  switch (answer._tag) {
    case "Begun":
      keyed.move("begin")
      return executeUnderKey(keyed, answer.claim, answer.isAgain)
    case "Finished":
      return answerFromLedger(keyed, answer)
    case "Abandoned":
      keyed.move("find")
      return reconcileStart(keyed, answer, () => askLedger(keyed))
    case "Busy":
      return Effect.andThen(startedElsewhere(keyed.asking, answer.sinceMillis), keyed.unknown(answer.sinceMillis))
    case "Conflict":
      return keyed.conflict()
  }
}

const askLedger = (keyed: KeyedAttempt): UnderKey => {
  const { asking: { call, call: { record } }, identity } = keyed
  noteEntry(record, identity.id)
  const before = record.claiming.claim
  // A call that claims again has held the key before, and must not wait for itself.
  return Effect.flatMap(
    Effect.catch(
      Effect.andThen(settle(call), claim(keyed)),
      (error) => Effect.andThen(before === undefined ? Effect.void : settle(call), keyed.unavailable(error))
    ),
    (answer) => {
      dropClaim(record)
      return answered(keyed, answer._tag === "Begun" && before !== undefined ? { ...answer, isAgain: false } : answer)
    }
  )
}

/** Claims the key once for all attempts of a call: of those that are raced, one asks, and the others share its claim. */
export const claimOnce = (keyed: KeyedAttempt): UnderKey => {
  const { asking: { call: { record } }, identity, restore } = keyed
  const { claiming: { asking, claim, settle } } = record
  if (claim !== undefined && (claim.intent.id !== identity.id || claim.intent.arguments !== identity.hash)) {
    return keyed.conflict()
  }
  if (asking !== undefined) {
    return Effect.andThen(restore(Deferred.await(asking)), Effect.suspend(() => claimOnce(keyed)))
  }
  // Without `settle` the call was left in the meantime, and its lease released.
  if (claim !== undefined && settle !== undefined) {
    keyed.move("join")
    return executeUnderKey(keyed, claim)
  }
  keyed.move("ask")
  const mine = startAsking(record)
  return Effect.onExit(askLedger(keyed), () => Effect.sync(() => finishAsking(record, mine)))
}

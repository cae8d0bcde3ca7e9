/** Execution of a call once for each idempotency key, over all processes that share a ledger. */
import * as Effect from "effect/Effect"
import * as Deferred from "effect/Deferred"
import type { Idempotency } from "../../idempotency/idempotencyOptions.ts"
import { claimantOf, identify } from "./identifyCall.ts"
import { type Asking, KeyedAttempt, type KeyedOptions, type Refusals, type UnderKey } from "./keyedAttempt.ts"
import { randomId } from "../../foundation/digest.ts"
import type { Claimed } from "../../idempotency/claims.ts"
import { IdempotencyLedger } from "../../idempotency/ledgerService.ts"
import type { Intent, LedgerError } from "../../idempotency/ledgerStore.ts"
import { dropClaim, finishAsking, keepSettle, noteEntry, settle, startAsking } from "../record/claiming.ts"
import { answerFromLedger } from "./answerFromLedger.ts"
import { executeUnderKey } from "./executeUnderKey.ts"
import { reconcileStart, startedElsewhere } from "./reconcileStart.ts"
import type { Run } from "../../run/run.ts"

/** The ledgers that have been warned of. */
const warned = new WeakSet<IdempotencyLedger["Service"]>()

/**
 * Warns once for each ledger if a key is made of a run id that was drawn: after a crash the program starts a run with another id, and its
 * writes are done again. A journal has the id, and a chat's thread has its started writes.
 */
const warnOfDrawnId = (
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
const claimOnce = (keyed: KeyedAttempt): UnderKey => {
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

/**
 * Runs an attempt under the call's key: records the intent before it and the outcome after it. If the key has an outcome, the attempt ends with that. If the
 * attempt may not run, it fails with one of the refusals.
 */
export const oncePerKey = <A, E, R, E2>(
  idempotency: Idempotency,
  asking: Asking,
  refusals: Refusals<E2>,
  execute: (key: string, isAgain: boolean) => Effect.Effect<A, E, R>
): Effect.Effect<A, E | E2, R> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.flatMap(identify(idempotency, asking), (identity) =>
      claimOnce(
        new KeyedAttempt({
          asking,
          execute: execute as KeyedOptions["execute"],
          idempotency,
          identity,
          refusals,
          restore
        })
      ))
  ) as Effect.Effect<A, E | E2, R>

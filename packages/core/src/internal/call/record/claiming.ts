/** Claim of a call: its hold on its idempotency key, and the attempts that share the hold. A call without a key has none. */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type { Claim } from "../../idempotency/claims.ts"

export interface Claiming {
  /** The call's hold on its idempotency key, once its intent is recorded. */
  readonly claim: Claim | undefined
  /** The ledger's entry of the call's key, once it was asked for. */
  readonly entry: string | undefined
  /** Done when the attempt that asks for the claim has it, or has not; or when the one that releases it has. */
  readonly asking: Deferred.Deferred<void> | undefined
  /** Attempts that are at work under the claim: more than one if a call is raced with itself. */
  readonly holders: number
  /** Continues those who wait for this call, and releases its lease. Set while the claim is held. */
  readonly settle: Effect.Effect<void> | undefined
  /** Number of simultaneous makers of the call: more than one if its maker is raced with itself. */
  readonly made: number
}

class State implements Claiming {
  claim: Claiming["claim"] = undefined
  entry: Claiming["entry"] = undefined
  asking: Claiming["asking"] = undefined
  holders = 0
  settle: Claiming["settle"] = undefined
  made = 0
}

interface Has {
  readonly claiming: Claiming
}

/** The state of a call without claims: one for all, until a call writes its own. */
export const noClaim: Claiming = new State()

const own = (record: { claiming: State }): State =>
  record.claiming === noClaim ? record.claiming = new State() : record.claiming

/** Asks for the claim, or gives it up: the other attempts of the call wait until {@link finishAsking}. */
export const startAsking = (record: Has): Deferred.Deferred<void> => own(record).asking = Deferred.makeUnsafe<void>()

/** Continues the attempts that wait; only those behind `asking`, if that is given. */
export const finishAsking = (record: Has, asking = record.claiming.asking): void => {
  if (asking === undefined || record.claiming.asking !== asking) return
  own(record).asking = undefined
  Deferred.doneUnsafe(asking, Effect.void)
}

/** Notes the ledger's entry of the call's key. */
export const noteEntry = (record: Has, entry: string): void => {
  own(record).entry = entry
}

/** Notes an attempt that is at work under a claim. */
export const holdClaim = (record: Has, claim: Claim): void => {
  const state = own(record)
  state.claim = claim
  state.holders++
}

/** Notes that such an attempt has ended. */
export const endHold = (record: Has): void => {
  own(record).holders--
}

/** Notes that the call has no claim any more. */
export const dropClaim = (record: Has): void => {
  if (record.claiming.claim !== undefined) own(record).claim = undefined
}

/** Keeps the effect that continues those who wait for the call. */
export const keepSettle = (record: Has, settle: Effect.Effect<void>): void => {
  own(record).settle = settle
}

/** Notes that the call is made. */
export const startMaking = (record: Has): void => {
  own(record).made++
}

/** Ends the making of a call by a tool or a program. Its claim is kept until the call is not made any more. */
export const leave = (call: { readonly record: Has }): Effect.Effect<void> =>
  --own(call.record).made > 0 ? Effect.void : settle(call)

/** Continues those who wait for a call. Done at the end of each call, whatever its outcome is. */
export const settle = ({ record }: { readonly record: Has }): Effect.Effect<void> => {
  const { settle } = record.claiming
  if (settle === undefined) return Effect.void
  own(record).settle = undefined
  return settle
}

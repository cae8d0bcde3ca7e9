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

interface Has {
  claiming: Claiming
}

/** The state of a new call. */
export const noClaim: Claiming = {
  claim: undefined,
  entry: undefined,
  asking: undefined,
  holders: 0,
  settle: undefined,
  made: 0
}

/** Asks for the claim, or gives it up: the other attempts of the call wait until {@link finishAsking}. */
export const startAsking = (record: Has): Deferred.Deferred<void> => {
  const asking = Deferred.makeUnsafe<void>()
  record.claiming = { ...record.claiming, asking }
  return asking
}

/** Continues the attempts that wait; only those behind `asking`, if that is given. */
export const finishAsking = (record: Has, asking = record.claiming.asking): void => {
  if (asking === undefined || record.claiming.asking !== asking) return
  record.claiming = { ...record.claiming, asking: undefined }
  Deferred.doneUnsafe(asking, Effect.void)
}

/** Notes the ledger's entry of the call's key. */
export const noteEntry = (record: Has, entry: string): void => {
  record.claiming = { ...record.claiming, entry }
}

/** Notes an attempt that is at work under a claim. */
export const holdClaim = (record: Has, claim: Claim): void => {
  record.claiming = { ...record.claiming, claim, holders: record.claiming.holders + 1 }
}

/** Notes that such an attempt has ended. */
export const endHold = (record: Has): void => {
  record.claiming = { ...record.claiming, holders: record.claiming.holders - 1 }
}

/** Notes that the call has no claim any more. */
export const dropClaim = (record: Has): void => {
  if (record.claiming.claim !== undefined) record.claiming = { ...record.claiming, claim: undefined }
}

/** Keeps the effect that continues those who wait for the call. */
export const keepSettle = (record: Has, settle: Effect.Effect<void>): void => {
  record.claiming = { ...record.claiming, settle }
}

/** Notes that the call is made. */
export const startMaking = (record: Has): void => {
  record.claiming = { ...record.claiming, made: record.claiming.made + 1 }
}

/** Ends the making of a call by a tool or a program. Its claim is kept until the call is not made any more. */
export const leave = (call: { readonly record: Has }): Effect.Effect<void> => {
  const { record } = call
  record.claiming = { ...record.claiming, made: record.claiming.made - 1 }
  return record.claiming.made > 0 ? Effect.void : settle(call)
}

/** Continues those who wait for a call. Done at the end of each call, whatever its outcome is. */
export const settle = ({ record }: { readonly record: Has }): Effect.Effect<void> => {
  const { settle } = record.claiming
  if (settle === undefined) return Effect.void
  record.claiming = { ...record.claiming, settle: undefined }
  return settle
}

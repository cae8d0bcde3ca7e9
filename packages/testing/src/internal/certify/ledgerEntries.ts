/** Entries of a ledger that is checked: intents of some claims, and the reading of an entry. */
import { Duration, Effect } from "effect"
import type { IdempotencyLedger } from "@recourse/core"
import { type Differs, same } from "./broken.ts"

type Store = IdempotencyLedger.Store

/** A law of stores, for an id that no entry has. */
export type Law = (store: Store, id: string) => Effect.Effect<void, Differs | IdempotencyLedger.LedgerError>

export const hour = Duration.hours(1)
export const over = Duration.zero

export const paid: IdempotencyLedger.Outcome = { _tag: "Result", value: "paid" }

export const intent = (id: string, claim: string): IdempotencyLedger.Intent => ({
  id,
  tool: "pay",
  callId: `call of ${claim}`,
  arguments: "hash",
  claim
})

/** Intents of three claims of one key. */
export const intents = (id: string) => [intent(id, "a"), intent(id, "b"), intent(id, "c")] as const

/** The entry of a key, read by a claim that does not get it. */
export const entryOf = (store: Store, id: string) =>
  Effect.flatMap(
    store.begin(intent(id, "reader"), over),
    (found) => Effect.map(same("an entry that is read", found !== undefined, true), () => found!.entry)
  )

/** A database reads its clock for each value that it writes: an hour is longer by the time of one statement. */
export const lastsAnHour = (name: string, from: number, to: number) =>
  same(`an hour by ${name}`, to - from >= 3_600_000 && to - from <= 3_601_000, true)

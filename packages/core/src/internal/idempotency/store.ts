/** What a ledger keeps, and what a place to keep it in must be able to do. */
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

/** What came of a call, in a form that can be stored. */
export const Outcome = Schema.Union([
  Schema.TaggedStruct("Result", { value: Schema.Json }),
  Schema.TaggedStruct("PartialSuccess", {
    succeeded: Schema.Array(Schema.Json),
    failed: Schema.Array(Schema.Struct({ item: Schema.Json, code: Schema.String, reason: Schema.String }))
  }),
  Schema.TaggedStruct("Pending", { taskId: Schema.String, retryAfterMillis: Schema.optionalKey(Schema.Finite) })
])

/** What came of a call, in a form that can be stored. */
export type Outcome = typeof Outcome.Type

/** What is about to be done. Holds no arguments, only their hash. Times are milliseconds since the epoch. */
export const Intent = Schema.Struct({
  /** SHA-256 of the tool's name and the key, in hexadecimal. */
  id: Schema.String,
  tool: Schema.String,
  callId: Schema.String,
  /** SHA-256 of the canonical arguments, in hexadecimal. */
  arguments: Schema.String,
  /** Who holds the entry: random, other for each call. */
  claim: Schema.String,
  startedAt: Schema.Finite
})

/** What is about to be done. */
export type Intent = typeof Intent.Type

/** An intent, and what came of it. Without an outcome nobody knows: the call may still run, or have been cut off. */
export const Entry = Schema.Struct({
  ...Intent.fields,
  outcome: Schema.optionalKey(Outcome),
  /** When a finished entry is forgotten. One without an outcome is kept. */
  expiresAt: Schema.optionalKey(Schema.Finite)
})

/** An intent, and what came of it. */
export type Entry = typeof Entry.Type

/** The store of a ledger failed. */
export class LedgerError extends Schema.TaggedError<LedgerError>()("LedgerError", {
  operation: Schema.Literals(["begin", "take", "complete", "release"]),
  reason: Schema.Unknown
}) {
  override get message(): string {
    return `The idempotency ledger failed to ${this.operation}`
  }
}

/** A place to keep entries in. An effect that has succeeded must be durable, as far as the store is. */
export interface Store {
  /** Records an intent, if nothing that has not expired has its id; answers what has it, if something does. */
  readonly begin: (intent: Intent) => Effect.Effect<Entry | undefined, LedgerError>
  /** Puts an intent in the place of an entry without outcome, if that is still held by the same claim. */
  readonly take: (from: Entry, intent: Intent) => Effect.Effect<boolean, LedgerError>
  /** Records what came of an intent. */
  readonly complete: (intent: Intent, outcome: Outcome, expiresAt: number) => Effect.Effect<void, LedgerError>
  /** Forgets an intent of which nothing came. */
  readonly release: (intent: Intent) => Effect.Effect<void, LedgerError>
}

/** Whether an entry is to be forgotten. */
export const isExpired = (entry: Entry, now: number): boolean => entry.expiresAt !== undefined && entry.expiresAt <= now

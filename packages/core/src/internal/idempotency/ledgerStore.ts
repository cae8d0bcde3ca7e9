/** The ledger's entries, and the interface of its stores. */
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

/**
 * Marks of an outcome for each later use. Entries without marks give no information about their outcome.
 *
 * @category schemas
 * @since 0.2.0
 */
export const Marks = Schema.Struct({
  /** The untrusted tools whose words it may hold. */
  taintedBy: Schema.optionalKey(Schema.Array(Schema.String)),
  /** Degraded parts of it, with their time in ISO 8601. */
  degraded: Schema.optionalKey(
    Schema.Array(Schema.Struct({ source: Schema.String, asOf: Schema.optionalKey(Schema.String) }))
  )
})

/**
 * Marks of an outcome for each later use.
 *
 * @category models
 * @since 0.2.0
 */
export type Marks = typeof Marks.Type

const marks = { marks: Schema.optionalKey(Marks) }

const outcome = Schema.Union([
  /** `isUndefined`: the result is `undefined`, of which `null` is the nearest JSON. */
  Schema.TaggedStruct("Result", {
    value: Schema.Json,
    isUndefined: Schema.optionalKey(Schema.Literal(true)),
    ...marks
  }),
  Schema.TaggedStruct("PartialSuccess", {
    ...marks,
    succeeded: Schema.Array(Schema.Json),
    failed: Schema.Array(Schema.Struct({ item: Schema.Json, code: Schema.String, reason: Schema.String }))
  }),
  Schema.TaggedStruct("Pending", {
    ...marks,
    taskId: Schema.String,
    retryAfterMillis: Schema.optionalKey(Schema.Finite)
  })
])

type OutcomeSchemaType = typeof outcome

/**
 * Schema of the outcome of a call.
 *
 * @category models
 * @since 0.2.0
 */
export interface OutcomeSchema extends OutcomeSchemaType {}

/**
 * The outcome of a call, in a form that can be stored.
 *
 * @category schemas
 * @since 0.2.0
 */
export const Outcome: OutcomeSchema = outcome

/**
 * The outcome of a call, in a form that can be stored.
 *
 * @category models
 * @since 0.2.0
 */
export type Outcome = typeof Outcome.Type

/**
 * An intended call. Contains no arguments, only their hash.
 *
 * @category schemas
 * @since 0.2.0
 */
export const Intent = Schema.Struct({
  /** SHA-256 of the tool's name and the key, in hexadecimal. */
  id: Schema.String,
  tool: Schema.String,
  callId: Schema.String,
  /** SHA-256 of the canonical arguments, in hexadecimal. */
  arguments: Schema.String,
  /** The entry's claim: random, different for each call. */
  claim: Schema.String
})

/**
 * An intended call.
 *
 * @category models
 * @since 0.2.0
 */
export type Intent = typeof Intent.Type

const entry = Schema.Struct({
  ...Intent.fields,
  startedAt: Schema.Finite,
  /** Until when the holder of the entry may be at work on it. */
  leasedUntil: Schema.Finite,
  outcome: Schema.optionalKey(Outcome),
  /** When a finished entry is forgotten. One without an outcome is kept, and one that has none is kept with its outcome. */
  expiresAt: Schema.optionalKey(Schema.Finite)
})

type EntrySchemaType = typeof entry

/**
 * Schema of an intent and its outcome.
 *
 * @category models
 * @since 0.2.0
 */
export interface EntrySchema extends EntrySchemaType {}

/**
 * An intent and its outcome. Without an outcome the call still runs, if its lease does, or was cut off. Times
 * are milliseconds since the epoch by the clock of the store.
 *
 * @category schemas
 * @since 0.2.0
 */
export const Entry: EntrySchema = entry

/**
 * An intent and its outcome.
 *
 * @category models
 * @since 0.2.0
 */
export type Entry = typeof Entry.Type

/**
 * The entry of a key, and the store's clock at its reading.
 *
 * @category models
 * @since 0.2.0
 */
export interface Found {
  readonly entry: Entry
  readonly now: number
}

/**
 * The store of a ledger failed.
 *
 * @category errors
 * @since 0.2.0
 */
export class LedgerError extends Schema.TaggedError<LedgerError>()("LedgerError", {
  operation: Schema.Literals(["begin", "renew", "take", "find", "complete", "reopen", "release", "purge", "list"]),
  reason: Schema.Unknown,
  /** True if a retry may succeed: a broken connection, or a conflict of two transactions. Default: false. */
  isTransient: Schema.optionalKey(Schema.Boolean)
}) {
  override get message(): string {
    return `The idempotency ledger failed to ${this.operation}`
  }
}

/**
 * Result of recording an outcome.
 *
 * - `recorded`: it is in the entry.
 * - `restored`: the entry had vanished from the store, and was written again.
 * - `lost`: another call has taken the entry over. No entry was changed.
 *
 * @category models
 * @since 0.2.0
 */
export type Recorded = "recorded" | "restored" | "lost"

/**
 * A store of entries. An effect that has succeeded must be durable, within the store's limits. One that has failed may
 * have been executed, and can be repeated. Times are measured by the store's own clock, so that processes need not
 * agree.
 *
 * @category models
 * @since 0.2.0
 */
export interface Store {
  /** Records an intent under a lease, unless an entry that has not expired has its id; answers that entry. */
  readonly begin: (intent: Intent, lease: Duration.Duration) => Effect.Effect<Found | undefined, LedgerError>
  /**
   * Lets the lease of an entry without outcome run from now on, and records the intent's `callId`. `false`: the entry is not
   * (or no longer) held by the intent's claim. A lease of zero ends it.
   */
  readonly renew: (intent: Intent, lease: Duration.Duration) => Effect.Effect<boolean, LedgerError>
  /**
   * Gives an entry without outcome to the intent's claim, if it is still held by the same claim and its lease has run out.
   * The entry keeps its `callId` and `startedAt`.
   */
  readonly take: (from: Entry, intent: Intent, lease: Duration.Duration) => Effect.Effect<boolean, LedgerError>
  /** Records the outcome of an intent, for a time that may be infinite. */
  readonly complete: (
    intent: Intent,
    outcome: Outcome,
    timeToLive: Duration.Duration
  ) => Effect.Effect<Recorded, LedgerError>
  /**
   * Takes the outcome of an entry away while it is compensated, if the entry is held by the intent's claim, and lets a lease run.
   * Left out: another process reads the outcome until the compensation ends.
   */
  readonly reopen?: ((intent: Intent, lease: Duration.Duration) => Effect.Effect<void, LedgerError>) | undefined
  /** Deletes an intent without effect, if its claim has the entry. */
  readonly release: (intent: Intent) => Effect.Effect<void, LedgerError>
  /** {@link renew} of many intents, without their `callId`: answers the claims that hold. Given with {@link find}. */
  readonly renewAll?:
    | ((intents: ReadonlyArray<Intent>, lease: Duration.Duration) => Effect.Effect<ReadonlySet<string>, LedgerError>)
    | undefined
  /** Reads the entries of many ids that have not expired, by id. Left out: who waits asks {@link begin}, one by one. */
  readonly find?:
    | ((ids: ReadonlyArray<string>) => Effect.Effect<ReadonlyMap<string, Found>, LedgerError>)
    | undefined
  /**
   * Returns entries without an outcome whose lease has ended, those that started last first: their calls may have happened. Optional: people
   * see them in a list.
   */
  readonly abandoned?: ((limit: number) => Effect.Effect<ReadonlyArray<Entry>, LedgerError>) | undefined
  /** Deletes expired entries, and returns their number. Absent from stores that expire entries themselves. */
  readonly purge?: Effect.Effect<number, LedgerError> | undefined
}

/** Returns the entries without an outcome whose lease has ended, those that started last first. */
export const abandonedIn = (entries: Iterable<Entry>, now: number, limit: number): ReadonlyArray<Entry> =>
  [...entries].filter(({ leasedUntil, outcome }) => outcome === undefined && leasedUntil <= now)
    .toSorted((a, b) => b.startedAt - a.startedAt || (a.id < b.id ? -1 : 1)).slice(0, limit)

/** True if an entry has expired. */
export const isExpired = ({ expiresAt = Infinity }: Entry, now: number): boolean => expiresAt <= now

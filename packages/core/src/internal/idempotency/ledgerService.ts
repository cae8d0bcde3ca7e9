/** The ledger's service key, apart from its stores: an agent loads neither HTTP nor SQL. */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type { ClaimKey } from "./claims.ts"
import type { Entry, Intent, LedgerError } from "./ledgerStore.ts"

/**
 * The ledger of idempotent calls. Made of a store by one of the layers.
 *
 * @category services
 * @since 0.2.0
 */
export class IdempotencyLedger extends Context.Service<IdempotencyLedger, {
  /** Claims the key: records the intent, or returns the known state. Waits for a running call with the key. */
  readonly claim: ClaimKey
  /** Deletes the outcome of a compensated call: its key is free again, unless another call has it. */
  readonly forget: (intent: Intent) => Effect.Effect<void, LedgerError>
  /** Takes the outcome of a write away while it is compensated. Left out by a ledger that cannot. */
  readonly reopen?:
    | ((intent: Intent, during: Duration.Duration) => Effect.Effect<Effect.Effect<void>, LedgerError>)
    | undefined
  /**
   * Returns entries without an outcome that no call is at work on, those that started last first: their calls may have happened. `undefined` for a
   * store that has no list.
   */
  readonly abandoned?: ((limit: number) => Effect.Effect<ReadonlyArray<Entry>, LedgerError>) | undefined
  /** True if its entries outlive the process. Default: `false`. */
  readonly isPersistent?: boolean | undefined
  /** Deletes expired entries, and returns their number. */
  readonly purge: Effect.Effect<number, LedgerError>
}>()("@recourse/core/IdempotencyLedger") {}

/** Whose keys a ledger has: entries of one namespace are unknown in every other. None: one ledger, one namespace. */
export const LedgerNamespace: Context.Reference<string | undefined> = Context.Reference<string | undefined>(
  "@recourse/core/IdempotencyLedger/Namespace",
  { defaultValue: () => undefined }
)

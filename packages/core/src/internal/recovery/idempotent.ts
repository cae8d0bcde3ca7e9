/** Idempotent calls: run once for each key, whatever is repeated and whatever breaks. */
import * as Effect from "effect/Effect"
import type { IdempotencyLedger } from "../idempotency/ledgerService.ts"
import type { Reconciliation } from "../../Reconciliation.ts"
import type { IdempotencyConflict, LedgerUnavailable, OutcomeUnknown } from "../../ToolError.ts"
import { ToolCall } from "../call/call.ts"
import { signalIn } from "../foundation/effect/signal.ts"
import { LedgerVerdict } from "../call/ledger/ledgerLookup.ts"
import { fromOptions, type Idempotency, type IdempotencyOptions } from "../idempotency/idempotencyOptions.ts"
import type { Entry } from "../idempotency/ledgerStore.ts"

/**
 * {@link IdempotencyOptions} for a call whose arguments' type is not at hand: `key` gets the arguments as they came.
 *
 * @category options
 * @since 0.2.0
 */
export interface IdempotentOptions<out A, out R> extends
  Omit<
    IdempotencyOptions<Readonly<Record<string, unknown>>, A, string>,
    "reconcile"
  >
{
  /**
   * Finds out how a call ended whose outcome is unknown, from its entry in the ledger. Default: the call stays
   * `OutcomeUnknown`.
   */
  readonly reconcile?: ((entry: Entry) => Effect.Effect<Reconciliation<A>, unknown, R>) | undefined
}

const isVerdict = (value: object): value is LedgerVerdict => value instanceof LedgerVerdict

/**
 * Executes a call once for each key: a second call with the same key and the same arguments is answered with the first
 * one's result, also while that is running. The same key with other arguments is an `IdempotencyConflict`. The intent
 * is recorded before the first attempt: if the ledger cannot record, the tool is not run (`LedgerUnavailable`). An
 * interrupted call, for example by the end of the process, is `OutcomeUnknown` and not run again, unless `reconcile`
 * allows it.
 *
 * Unlike the `idempotency` of `Tool.make` it does not say that the tool passes the key on: a write that was executed is
 * still not repeated. Recovery within it does not see the errors that it adds.
 *
 * **Example** (One booking for one seat)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { IdempotencyLedger, Recovery, Tool, ToolCall } from "@recourse/core"
 *
 * let bookings = 0
 * const Book = Tool.make("book", {
 *   parameters: Schema.Struct({ seat: Schema.String }),
 *   success: Schema.Int,
 *   effects: "write",
 *   execute: () => Effect.sync(() => ++bookings)
 * }).pipe(Tool.onError(Recovery.idempotent({ key: ({ seat }) => String(seat) })))
 *
 * const call = (id: string) =>
 *   Book.call.pipe(Effect.provideService(ToolCall.ToolCall, ToolCall.make({ id, arguments: { seat: "12A" } })))
 *
 * await Effect.runPromise(
 *   Effect.all([call("c1"), call("c2")], { concurrency: 2 }).pipe(Effect.provide(IdempotencyLedger.layerMemory))
 * ) // => [1, 1]
 * ```
 *
 * @category combinators
 * @since 0.2.0
 */
export const idempotent = <A2 = never, R2 = never>(options?: IdempotentOptions<A2, R2>) => {
  const { key, reconcile, ...others } = options ?? {}
  const idempotency: Idempotency = {
    ...fromOptions(others),
    key: key === undefined ? undefined : (_params, raw) => key(raw),
    reconcile
  }
  return <A, E, R>(
    call: Effect.Effect<A, E, R>
  ): Effect.Effect<
    A | A2,
    E | OutcomeUnknown | IdempotencyConflict | LedgerUnavailable,
    R | R2 | ToolCall | IdempotencyLedger
  > =>
    Effect.flatMap(ToolCall, (current) =>
      Effect.catchCause(
        Effect.provideService(call, ToolCall, { ...current, idempotency }),
        (cause): Effect.Effect<never, E | OutcomeUnknown | IdempotencyConflict | LedgerUnavailable> => {
          const verdict = signalIn(cause, isVerdict)
          return verdict === undefined
            ? Effect.failCause(cause)
            : Effect.fail(verdict.error as OutcomeUnknown | IdempotencyConflict | LedgerUnavailable)
        }
      )) as never
}

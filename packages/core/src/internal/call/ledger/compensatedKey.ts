/** Keys of compensated writes: the ledger answers no call with a write that is being compensated, and forgets one that was. */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { IdempotencyLedger } from "../../idempotency/ledgerService.ts"
import type { CompensableWrite } from "../../run/writes/completedWrites.ts"

/**
 * Compensates a write under its key. From the start of `compensate` the ledger no longer answers with the write's
 * result: calls with the key wait. After a success the key is free. After a failure the outcome of the key is unknown,
 * because the write may be compensated.
 */
export const underKeyOf = <E, R>(
  { callId, intent, tool }: CompensableWrite,
  during: Duration.Duration,
  compensate: Effect.Effect<unknown, E, R>
): Effect.Effect<void, E, R> =>
  Effect.contextWith((context: Context.Context<never>) => {
    const ledger = Context.getOrUndefined(context, IdempotencyLedger)
    if (intent === undefined || ledger === undefined) return Effect.asVoid(compensate)
    const quietly = <A>(effect: Effect.Effect<A, unknown>, what: string): Effect.Effect<A | undefined> =>
      Effect.catchCause(effect, (cause) =>
        Effect.as(Effect.annotateLogs(Effect.logWarning(what, cause), { call_id: callId, tool }), undefined))
    const reopened = ledger.reopen === undefined
      ? Effect.undefined
      : quietly(
        ledger.reopen(intent, during),
        "The idempotency ledger answers with a write that is being compensated"
      )
    return Effect.acquireUseRelease(
      reopened,
      () =>
        compensate,
      (close, exit) =>
        Effect.andThen(
          Exit.isSuccess(exit)
            ? quietly(
              ledger.forget(intent),
              "A write is compensated, and the idempotency ledger still answers that it is done"
            )
            : Effect.void,
          close ?? Effect.void
        )
    ).pipe(Effect.asVoid)
  })

/** Keys of compensated writes: the ledger answers no call with a write that is being compensated, and forgets one that was. */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Schedule from "effect/Schedule"
import { atFirstUse } from "../../foundation/lazyValue.ts"
import { IdempotencyLedger } from "../../idempotency/ledgerService.ts"
import type { LedgerError } from "../../idempotency/ledgerStore.ts"
import type { CompensableWrite } from "../../run/writes/completedWrites.ts"

/** A ledger that is away for a moment. */
const ledgerRetry = atFirstUse(() => Schedule.max([Schedule.exponential("100 millis"), Schedule.recurs(4)]))

/**
 * Compensates a write under its key. From the start of `compensate` the ledger no longer answers with the write's
 * result: calls with the key wait. After a success the key is free. After a failure the outcome of the key is unknown,
 * because the write may be compensated. Fails before `compensate` if the ledger still answers with the result: a later call would read that
 * a write is done which is compensated.
 */
export const underKeyOf = <E, R>(
  { callId, intent, tool }: CompensableWrite,
  during: Duration.Duration,
  compensate: Effect.Effect<unknown, E, R>
): Effect.Effect<void, E | LedgerError, R> =>
  Effect.contextWith((context: Context.Context<never>) => {
    const ledger = Context.getOrUndefined(context, IdempotencyLedger)
    if (intent === undefined || ledger === undefined) return Effect.asVoid(compensate)
    const answers = ledger.reopen === undefined
      ? "the idempotency ledger still answers that it is done"
      : "the outcome of its idempotency key stays unknown"
    const freed = Effect.catchCause(ledger.forget(intent), (cause) =>
      Effect.annotateLogs(Effect.logWarning(`A write is compensated, and ${answers}`, cause), {
        call_id: callId,
        tool
      }))
    const reopened = ledger.reopen === undefined
      ? Effect.undefined
      : Effect.retry(ledger.reopen(intent, during), ledgerRetry())
    return Effect.acquireUseRelease(
      reopened,
      () =>
        compensate,
      (close, exit) =>
        Effect.andThen(Exit.isSuccess(exit) ? freed : Effect.void, close ?? Effect.void)
    ).pipe(Effect.asVoid)
  })

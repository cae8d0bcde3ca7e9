/** Calls that are done once for each key, whatever is asked again and whatever breaks. */
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { Entry } from "../idempotency/store.ts"
import type { IdempotencyLedger } from "../../IdempotencyLedger.ts"
import { LedgerVerdict } from "../call/attempt.ts"
import type { Idempotency, Reconciled } from "../call/oncePerKey.ts"
import { ToolCall } from "../../ToolCall.ts"
import type { IdempotencyConflict, LedgerUnavailable, OutcomeUnknown } from "../../ToolError.ts"

export type { Reconciled } from "../call/oncePerKey.ts"

/** The answer of a `reconcile` that found that the call was done: its result, which is recorded. */
export const happened = <A>(result: A): Reconciled<A> => ({ _tag: "Happened", result })

/** The answer of a `reconcile` that found that nothing was done: the call is run. */
export const notHappened: Reconciled<never> = { _tag: "NotHappened" }

/** The answer of a `reconcile` that could not find out: the call is `OutcomeUnknown`, as without one. */
export const stillUnknown: Reconciled<never> = { _tag: "StillUnknown" }

/** How calls of a tool are made idempotent: the `idempotency` of `Tool.make`. */
export interface IdempotencyOptions<in Params, out A, out Tag extends string> {
  /**
   * The key of a call. Calls of the tool with one key are done once, in whichever run; the key is passed on as it is.
   * Default: the run, the call's id and the tool, which is to say that no other call has it.
   */
  readonly key?: ((params: Params) => string) | undefined
  /** How long a result answers for its key, from when it was recorded. Default: 24 hours, as at Stripe. */
  readonly timeToLive?: Duration.Input | undefined
  /**
   * Tags of the executor's errors that say for certain that nothing was done. The key is free again after them. After any
   * other failure it is not known what was done.
   */
  readonly rejected?: ReadonlyArray<Tag> | undefined
  /**
   * Asked about a call that was begun and of which nobody knows what came. It may ask the service, by the key. A failure
   * of it is {@link stillUnknown}.
   */
  readonly reconcile?:
    | ((entry: Entry, params: Params) => Effect.Effect<Reconciled<A>, unknown, unknown>)
    | undefined
}

/** @internal The options of a tool, read once. */
export const fromOptions = (options: true | IdempotencyOptions<never, unknown, string>): Idempotency => {
  const { key, reconcile, rejected, timeToLive }: IdempotencyOptions<never, unknown, string> = options === true
    ? {}
    : options
  return {
    key: key as Idempotency["key"],
    timeToLive: Duration.fromInputUnsafe(timeToLive ?? "24 hours"),
    rejected: rejected ?? [],
    reconcile: reconcile as Idempotency["reconcile"]
  }
}

/** {@link IdempotencyOptions} for a call whose arguments' type is not at hand: `key` gets the arguments as they came. */
export interface IdempotentOptions<out A, out R> extends
  Omit<
    IdempotencyOptions<Readonly<Record<string, unknown>>, A, string>,
    "reconcile"
  >
{
  readonly reconcile?: ((entry: Entry) => Effect.Effect<Reconciled<A>, unknown, R>) | undefined
}

/**
 * Does a call once for each key: a second call with the same key and the same arguments is answered with the first one's
 * result, also while that is running. The same key with other arguments is an `IdempotencyConflict`. The intent is
 * recorded before the first attempt: where the ledger cannot, the tool is not run (`LedgerUnavailable`). A call that was
 * cut off, by the end of the process for example, is `OutcomeUnknown` and not run again, unless `reconcile` says so.
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
          const died = cause.reasons.find(Cause.isDieReason)
          return died?.defect instanceof LedgerVerdict
            ? Effect.fail(died.defect.error as OutcomeUnknown | IdempotencyConflict | LedgerUnavailable)
            : Effect.failCause(cause)
        }
      )) as never
}

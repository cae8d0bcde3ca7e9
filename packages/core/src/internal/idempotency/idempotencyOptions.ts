/** Idempotency options of a tool: its calls run once for each key. */
import * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type { Entry } from "./ledgerStore.ts"

/** What a declared `reconcile` found out about a call that was cut off. */
export type Reconciled<A> =
  | { readonly _tag: "Happened"; readonly result: A }
  | { readonly _tag: "NotHappened" }
  | { readonly _tag: "StillUnknown" }

/** How a call is made idempotent. */
export interface Idempotency {
  /** The key of a call. Left out: the run, the call and the tool. */
  readonly key: ((params: unknown, raw: Readonly<Record<string, unknown>>) => string) | undefined
  /** Where own keys are unique. Left out: the tool's name. */
  readonly namespace?: string | undefined
  /** The id of the entry, where it is known already. */
  readonly id?: string | undefined
  readonly timeToLive: Duration.Duration
  /** Whether the service does nothing twice under one key. */
  readonly isDeduplicated: boolean
  /** Tags of the executor's errors that say that nothing was done. */
  readonly rejected: ReadonlyArray<string>
  readonly reconcile:
    | ((entry: Entry, params: unknown) => Effect.Effect<Reconciled<unknown>, unknown, unknown>)
    | undefined
}

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
  /**
   * Where own keys are unique. Default: the tool's name, and tools of one name that different agents have share keys only if they
   * are one tool: the same value in the program. Another tool that claims an entry is an `IdempotencyConflict`. Name the service
   * that deduplicates (`"bank-a"`), and all tools that say the same name share its keys.
   */
  readonly namespace?: string | undefined
  /** How long a result answers for its key, from when it was recorded. Default: 24 hours, as at Stripe. */
  readonly timeToLive?: Duration.Input | undefined
  /**
   * Whether the service deduplicates by the key: a request that repeats a key does nothing and gets the first answer, as at Stripe.
   * A later call with the key of a write whose outcome is unknown then sends it again under the same key, and the model reads that
   * it may call again. Default: `false`, such a call is `OutcomeUnknown` unless `reconcile` finds out.
   *
   * **Example**
   *
   * ```ts
   * import { Effect, Schema } from "effect"
   * import { Tool, ToolCall } from "@recourse/core"
   *
   * const Pay = Tool.make("pay", {
   *   parameters: Schema.Struct({ order: Schema.String }),
   *   success: Schema.String,
   *   effects: "write",
   *   idempotency: { key: ({ order }) => order, deduplicated: true },
   *   execute: () => Effect.map(ToolCall.ToolCall, ({ idempotencyKey }) => `paid under ${idempotencyKey}`)
   * })
   *
   * Pay.name // => "pay"
   * ```
   */
  readonly deduplicated?: boolean | undefined
  /**
   * Tags of the executor's errors that say for certain that nothing was done. The key is free again after them. After any
   * other failure it is not known what was done.
   */
  readonly rejected?: ReadonlyArray<Tag> | undefined
  /**
   * Finds out the outcome of a call that has started and whose end is unknown. It may ask the service, by the key. A failure or a
   * defect of it, and one that takes longer than the tool's `timeout` (without one: the `StoreTimeout`), is {@link stillUnknown}.
   */
  readonly reconcile?:
    | ((entry: Entry, params: Params) => Effect.Effect<Reconciled<A>, unknown, unknown>)
    | undefined
}

/** @internal The options of a tool, read once. */
export const fromOptions = (options: true | IdempotencyOptions<never, unknown, string>): Idempotency => {
  // `true` has none of them.
  const { deduplicated, key, namespace, reconcile, rejected, timeToLive } = options as IdempotencyOptions<
    never,
    unknown,
    string
  >
  return {
    key: key as Idempotency["key"],
    namespace,
    timeToLive: Duration.fromInputUnsafe(timeToLive ?? "24 hours"),
    isDeduplicated: deduplicated === true,
    rejected: rejected ?? [],
    reconcile: reconcile as Idempotency["reconcile"]
  }
}

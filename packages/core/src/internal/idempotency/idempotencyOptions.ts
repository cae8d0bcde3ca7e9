/** Idempotency options of a tool: its calls run once for each key. */
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import { aTimeLimit, durationOf } from "../foundation/options/optionCheck.ts"
import type { Reconciliation } from "../../Reconciliation.ts"
import type { Entry } from "./ledgerStore.ts"

/** Idempotency of a call. */
export interface Idempotency {
  /** The key of a call. Left out: the run, the call and the tool. */
  readonly key: ((params: unknown, raw: Readonly<Record<string, unknown>>) => string) | undefined
  /** Namespace in which own keys are unique. Default: the tool's name. */
  readonly namespace?: string | undefined
  /** The id of the entry, if it is known already. */
  readonly id?: string | undefined
  readonly timeToLive: Duration.Duration
  /** True if the service executes a key once. */
  readonly isDeduplicated: boolean
  /** Tags of the executor's errors that mean "not done". */
  readonly rejected: ReadonlyArray<string>
  readonly reconcile:
    | ((entry: Entry, params: unknown) => Effect.Effect<Reconciliation<unknown>, unknown, unknown>)
    | undefined
}

/**
 * Idempotency of a tool's calls: the `idempotency` of `Tool.make`.
 *
 * @category options
 * @since 0.2.0
 */
export interface IdempotencyOptions<in Params, out A, out Tag extends string> {
  /**
   * The key of a call. Calls of the tool with one key are done once, in whichever run; the key is passed on as it is.
   * Default: the run, the call's id and the tool, which is to say that no other call has it.
   */
  readonly key?: ((params: Params) => string) | undefined
  /**
   * Namespace in which own keys are unique. Default: the tool's name, and tools of one name in different agents share
   * keys only if they are one tool: the same value in the program. Another tool that claims an entry is an
   * `IdempotencyConflict`. Name the deduplicating service (`"bank-a"`), and all tools with the same name share its
   * keys.
   */
  readonly namespace?: string | undefined
  /** Retention of a result for its key, from its recording. Default: 24 hours, like Stripe. */
  readonly timeToLive?: Duration.Input | undefined
  /**
   * True if the service deduplicates by the key: a request that repeats a key has no effect and gets the first answer,
   * like with Stripe. A later call with the key of a write of unknown outcome then sends it again under the same key,
   * and the model reads that it may call again. Default: `false`, such a call is `OutcomeUnknown` unless `reconcile`
   * finds out.
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
   * Tags of the executor's errors that certainly mean "not done". The key is free again after them. After any other
   * failure the outcome is unknown.
   */
  readonly rejected?: ReadonlyArray<Tag> | undefined
  /**
   * Finds out the outcome of a call that has started and whose end is unknown. It may ask the service, by the key. A failure or a
   * defect of it, and one that takes longer than the tool's `timeout` (without one: the `StoreTimeout`), counts as `Reconciliation.unknown`.
   */
  readonly reconcile?:
    | ((entry: Entry, params: Params) => Effect.Effect<Reconciliation<A>, unknown, unknown>)
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
    timeToLive: durationOf("Idempotency", "timeToLive", timeToLive, "24 hours", aTimeLimit),
    isDeduplicated: deduplicated === true,
    rejected: rejected ?? [],
    reconcile: reconcile as Idempotency["reconcile"]
  }
}

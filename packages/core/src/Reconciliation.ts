/**
 * Reconciliation of a write that started and whose end is unknown: the answer of a tool's `reconcile`.
 *
 * **Example** (Asking the bank before a payment is repeated)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Reconciliation, Tool } from "@recourse/core"
 *
 * const payments = new Map([["order-1", "payment 7"]])
 *
 * const Pay = Tool.make("pay", {
 *   parameters: Schema.Struct({ order: Schema.String }),
 *   success: Schema.String,
 *   effects: "write",
 *   idempotency: {
 *     key: ({ order }) => order,
 *     reconcile: (_, { order }) =>
 *       Effect.sync(() => {
 *         const payment = payments.get(order)
 *         return payment === undefined ? Reconciliation.notStarted : Reconciliation.completed(payment)
 *       })
 *   },
 *   execute: ({ order }) => Effect.succeed(`payment of ${order}`)
 * })
 *
 * Pay.name // => "pay"
 * ```
 */

/**
 * Answer of a `reconcile`: the write completed with a result, has not started, or is still unknown.
 *
 * @category models
 * @since 0.2.0
 */
export type Reconciliation<A> =
  | { readonly _tag: "Completed"; readonly result: A }
  | { readonly _tag: "NotStarted" }
  | { readonly _tag: "Unknown" }

/**
 * Returns the answer for a write that completed. Its result is recorded under the key, and the call returns it.
 *
 * @category constructors
 * @since 0.2.0
 */
export const completed = <A>(result: A): Reconciliation<A> => ({ _tag: "Completed", result })

/**
 * The service has not executed the write: the call executes it now.
 *
 * @category constructors
 * @since 0.2.0
 */
export const notStarted: Reconciliation<never> = { _tag: "NotStarted" }

/**
 * The service does not know either: the call fails with `OutcomeUnknown`, as without a `reconcile`.
 *
 * @category constructors
 * @since 0.2.0
 */
export const unknown: Reconciliation<never> = { _tag: "Unknown" }

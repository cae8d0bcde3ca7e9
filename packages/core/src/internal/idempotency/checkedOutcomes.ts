/** Checked outcomes: answers of people who have looked up whether a write with an unknown outcome has happened. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import type { Reconciliation } from "../../Reconciliation.ts"

/**
 * Finds the answer for an entry of the ledger. `result` is JSON of the tool's `success` schema.
 *
 * @category models
 * @since 0.2.0
 */
export type CheckOutcome = (entry: string) => Effect.Effect<Reconciliation<Schema.Json>, unknown>

/**
 * Answers in the place of `reconcile` for a key whose outcome is unknown: if the tool has no `reconcile`, or it answers `stillUnknown`. The
 * answer is usually that of a person. Default: there is none.
 *
 * **Example** (A person has found the payment)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { IdempotencyLedger, Tool, ToolCall } from "@recourse/core"
 *
 * const Pay = Tool.make("pay", {
 *   parameters: Schema.Struct({ order: Schema.Int }),
 *   success: Schema.String,
 *   effects: "write",
 *   timeout: "10 millis",
 *   idempotency: { key: ({ order }) => `order ${order}` },
 *   execute: () => Effect.never
 * })
 * const pay = (id: string) =>
 *   Effect.provideService(Pay.call, ToolCall.ToolCall, ToolCall.make({ id, arguments: { order: 7 } }))
 * const checked = () => Effect.succeed({ _tag: "Completed", result: "payment 1" } as const)
 *
 * const both = Effect.all([
 *   Effect.flip(pay("c1")),
 *   pay("c2").pipe(Effect.provideService(IdempotencyLedger.CheckedOutcomes, checked))
 * ])
 * const [first, second] = await Effect.runPromise(both.pipe(Effect.provide(IdempotencyLedger.layerMemory)))
 * first._tag // => "OutcomeUnknown"
 * second // => "payment 1"
 * ```
 *
 * @category services
 * @since 0.2.0
 */
export const CheckedOutcomes: Context.Reference<CheckOutcome | undefined> = Context.Reference<CheckOutcome | undefined>(
  "@recourse/core/IdempotencyLedger/CheckedOutcomes",
  { defaultValue: () => undefined }
)

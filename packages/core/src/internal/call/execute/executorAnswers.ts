/** Answers of an executor besides a result: escalate, partial, pending. */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { Escalation, type FailedItem, PartialSuccess, Pending, type Severity } from "../../../ToolError.ts"
import { stackless } from "../../foundation/stacklessError.ts"
import { type Call, ToolCall } from "../call.ts"
import { errorFields } from "../record/record.ts"

/**
 * Fails softly from within a tool: the model receives the reason and the run continues. For retries and idempotency keys
 * the call itself had no effect: after an effect, answer with {@link partialSuccess}.
 *
 * **Example** (Advising the model from a tool)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Tool, ToolCall } from "@recourse/core"
 *
 * const Price = Tool.make("price", {
 *   parameters: Schema.Struct({ sku: Schema.String }),
 *   success: Schema.Number,
 *   execute: ({ sku }) =>
 *     sku.startsWith("A-") ? Effect.succeed(3) : ToolCall.escalate({ reason: "Article numbers start with A-" })
 * })
 *
 * await Effect.runPromise(
 *   Price.call.pipe(
 *     Effect.provideService(ToolCall.ToolCall, ToolCall.make({ id: "c1", arguments: { sku: "17" } })),
 *     Effect.catchTag("Escalation", (escalation) => Effect.succeed(escalation.reason))
 *   )
 * ) // => "Article numbers start with A-"
 * ```
 *
 * @category running
 * @since 0.2.0
 */
export const escalate = (options: {
  readonly reason: string
  readonly code?: string | undefined
  readonly severity?: Severity | undefined
}): Effect.Effect<never, Escalation, ToolCall> =>
  Effect.flatMap(ToolCall, (call) => Effect.fail(escalation(call, options)))

/**
 * Answers from within a tool that a part of the work was done: the completed parts, and the others with reasons. The
 * model receives both unchanged; write the codes and reasons for it. The call is not retried.
 *
 * **Example** (Two of three mails)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Tool, ToolCall } from "@recourse/core"
 *
 * const Send = Tool.make("send", {
 *   parameters: Schema.Struct({ to: Schema.Array(Schema.String) }),
 *   effects: "write",
 *   execute: ({ to }) =>
 *     ToolCall.partial({
 *       succeeded: to.filter((address) => address.includes("@")),
 *       failed: to
 *         .filter((address) => !address.includes("@"))
 *         .map((item) => ({ item, code: "not_an_address", reason: "There is no @ in it" }))
 *     })
 * })
 *
 * await Effect.runPromise(
 *   Send.call.pipe(
 *     Effect.provideService(
 *       ToolCall.ToolCall,
 *       ToolCall.make({ id: "c1", arguments: { to: ["a@x.org", "b", "c@x.org"] } })
 *     ),
 *     Effect.catchTag("PartialSuccess", ({ failed }) => Effect.succeed(failed.map(({ item }) => item)))
 *   )
 * ) // => ["b"]
 * ```
 *
 * @category running
 * @since 0.2.0
 */
export const partial = <A, Item>(parts: {
  readonly succeeded: ReadonlyArray<A>
  readonly failed: ReadonlyArray<FailedItem<Item>>
}): Effect.Effect<never, PartialSuccess<A, Item>, ToolCall> =>
  Effect.flatMap(
    ToolCall,
    (call) => Effect.fail(new PartialSuccess<A, Item>({ ...errorFields(call.record), ...parts }))
  )

/**
 * Answers from within a tool that it has started a task, which continues after the call. The model receives the id and,
 * if the tool declares a `status`, a tool to query the task's state.
 *
 * **Example** (A job that takes its time)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Tool, ToolCall } from "@recourse/core"
 *
 * const Render = Tool.make("render", {
 *   success: Schema.String,
 *   effects: "write",
 *   execute: () => ToolCall.pending("job-7", { retryAfter: "30 seconds" }),
 *   status: (taskId) => Effect.succeed(`https://example.org/${taskId}.png`)
 * })
 *
 * await Effect.runPromise(
 *   Render.call.pipe(
 *     Effect.provideService(ToolCall.ToolCall, ToolCall.make({ id: "c1", arguments: {} })),
 *     Effect.catchTag("Pending", (pending) => Effect.succeed(pending.taskId))
 *   )
 * ) // => "job-7"
 * ```
 *
 * @category running
 * @since 0.2.0
 */
export const pending = (
  taskId: string,
  options?: { readonly retryAfter?: Duration.Input | undefined }
): Effect.Effect<never, Pending, ToolCall> =>
  Effect.flatMap(ToolCall, (call) =>
    Effect.fail(
      new Pending({
        ...errorFields(call.record),
        taskId,
        ...(options?.retryAfter === undefined
          ? undefined
          : { retryAfter: Duration.fromInputUnsafe(options.retryAfter) })
      })
    ))

/**
 * The escalation of a call.
 *
 * @category constructors
 * @since 0.2.0
 */
export const escalation = (
  call: Call,
  options: Parameters<typeof escalate>[0] & Partial<Record<"error", unknown>>
): Escalation =>
  stackless(() =>
    new Escalation({
      ...errorFields(call.record),
      code: options.code ?? "escalated",
      reason: options.reason,
      severity: options.severity ?? "medium",
      ...(options.error === undefined ? undefined : { error: options.error })
    })
  )

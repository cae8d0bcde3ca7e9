/** `ToolCall.tryPromise`: an executor of a function that returns a promise, such as the tool of another library. */
import * as Effect from "effect/Effect"
import { ToolCall } from "../call/call.ts"

/**
 * A call, for a function that returns a promise.
 *
 * @category models
 * @since 0.2.0
 */
export interface PromiseCall {
  readonly id: string
  /** The key to pass on to the service; absent if the tool declares no `idempotency`. */
  readonly idempotencyKey: string | undefined
  /** Aborted when the attempt is interrupted: by a timeout, by the end of the run, by its caller. */
  readonly signal: AbortSignal
}

/**
 * Runs a function that returns a promise within `execute`. It receives the id of the call, its idempotency key and an
 * abort signal. `catchError` makes an error of an exception. Default: the exception is the error.
 *
 * **Example** (A client of a service)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Tool, ToolCall, ToolRun } from "@recourse/core"
 *
 * class Down extends Schema.TaggedError<Down>()("Down", {}) {}
 *
 * const pay = (_amount: number, _options: { readonly signal: AbortSignal }) => Promise.reject(new Error("503"))
 *
 * const Pay = Tool.make("pay", {
 *   parameters: Schema.Struct({ amount: Schema.Number }),
 *   success: Schema.String,
 *   execute: ({ amount }) =>
 *     ToolCall.tryPromise(({ signal }) => pay(amount, { signal }), () => new Down())
 * })
 * const outcome = await ToolRun.callPromise(Pay, { id: "call_1", arguments: { amount: 1 } })
 *
 * const error = outcome._tag === "Unhandled" ? outcome.error : undefined
 * error?._tag === "ExecutionError" && error.reason._tag // => "Down"
 * ```
 *
 * @category running
 * @since 0.2.0
 */
export const tryPromise = <A, E = unknown>(
  evaluate: (call: PromiseCall) => PromiseLike<A> | A,
  catchError: (exception: unknown) => E = (exception) => exception as E
): Effect.Effect<A, E, ToolCall> =>
  Effect.flatMap(ToolCall, ({ id, idempotencyKey }) =>
    Effect.tryPromise({
      try: async (signal) => evaluate({ id, idempotencyKey, signal }),
      catch: catchError
    }))

/**
 * Recovery for the tools of OpenAI Agents: the loop stays that of `@openai/agents`, and its calls belong to one run of
 * Recourse.
 */
import { type FunctionTool, tool as makeTool } from "@openai/agents"
import type * as Effect from "effect/Effect"
import * as ToolCall from "@recourse/core/ToolCall"
import * as ToolRun from "@recourse/core/ToolRun"
import { contentOf } from "./internal/toolContent.ts"

/**
 * A tool of a run for an agent with any context.
 *
 * @category models
 * @since 0.2.0
 */
export type RunTool<Context = unknown> = FunctionTool<Context, never, unknown>

/**
 * Returns the tools of a run for `new Agent({ tools })`. The model reads the text of a failure. A call with an error that no
 * recovery handles throws it: the runner rejects with a `ToolCallError`, whose `error` it is. Give the runner
 * `signal: run.signal`, and it also ends with a deadline of the run.
 *
 * @category converting
 * @since 0.2.0
 */
export const tools = <Context = unknown>(run: ToolRun.Any): Array<RunTool<Context>> =>
  ToolRun.loopTools(run).map(({ description, execute, jsonSchema, name }) =>
    makeTool({
      name,
      description,
      parameters: jsonSchema as never,
      strict: false,
      // The error of a call that ends the run is not for the model.
      errorFunction: null,
      execute: async (input, _context, details) => {
        const outcome = await execute(input, {
          id: details?.toolCall?.callId ?? globalThis.crypto.randomUUID(),
          signal: details?.signal,
          answer: details?.toolCall
        })
        if (outcome._tag === "Unhandled") throw outcome.error
        return outcome._tag === "Success" && outcome.modelOutput !== undefined
          ? outcome.modelOutput.map(contentOf)
          : outcome.text
      }
    }) as unknown as RunTool<Context>
  )

/**
 * The details of `execute` in `@openai/agents`, with the key of Recourse.
 *
 * @category models
 * @since 0.2.0
 */
export interface Details {
  readonly signal: AbortSignal
  /** The key to pass on to the service; `undefined` if the tool declares no `idempotency`. */
  readonly idempotencyKey: string | undefined
}

/**
 * Makes an executor of a function that would be the `execute` of `tool` in `@openai/agents`: it receives `idempotencyKey` and
 * `signal` in its third argument. The second is `context`. `catchError` makes an error of an exception. Default: the
 * exception is the error.
 *
 * A finished `tool` of the package turns exceptions into text for the model, so it cannot be used here: give its function.
 *
 * @category constructors
 * @since 0.2.0
 */
export const execute = <Input, Output, Context = undefined, E = unknown>(
  evaluate: (input: Input, context: Context, details: Details) => Output,
  options?: { readonly context?: Context; readonly catchError?: (exception: unknown) => E }
): (input: Input) => Effect.Effect<Awaited<Output>, E, ToolCall.ToolCall> =>
(input) =>
  ToolCall.tryPromise<Awaited<Output>, E>(
    ({ idempotencyKey, signal }) =>
      evaluate(input, options?.context as Context, { signal, idempotencyKey }) as PromiseLike<Awaited<Output>>,
    options?.catchError
  )

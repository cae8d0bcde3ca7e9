/**
 * Recovery for the tools of Mastra agents: the loop stays Mastra's, and its calls belong to one run of Recourse.
 */
import { createTool, isValidationError, type ToolAction } from "@mastra/core/tools"
import * as Schema from "effect/Schema"
import type * as Effect from "effect/Effect"
import * as ErrorProjection from "@recourse/core/ErrorProjection"
import * as ToolCall from "@recourse/core/ToolCall"
import * as ToolSchema from "@recourse/core/ToolSchema"
import * as ToolRun from "@recourse/core/ToolRun"
import { contentOf } from "./internal/toolContent.ts"

/**
 * A tool of Mastra.
 *
 * @category models
 * @since 0.2.0
 */
export type MastraTool = ToolAction<any, any, any, any, any, any>

const isFailure = Schema.is(ErrorProjection.ToolFailure)

const outputOf = (output: unknown) =>
  isFailure(output)
    ? { type: "error-json", value: output }
    : typeof output === "string"
    ? { type: "text", value: output }
    : { type: "json", value: output ?? null }

interface Context {
  readonly abortSignal?: AbortSignal | undefined
  readonly agent?: { readonly toolCallId?: string | undefined } | undefined
}

/**
 * Returns the tools of a run for `new Agent({ tools })`. The model reads the text of a failure as an error. A call with an error
 * that no recovery handles throws it, and aborts `run.signal`: pass that to `generate` and `stream` as `abortSignal`.
 *
 * @category converting
 * @since 0.2.0
 */
export const tools = (run: ToolRun.Any): Record<string, MastraTool> =>
  Object.fromEntries(
    ToolRun.loopTools(run).map(({ description, execute, name, schema }) => {
      // Mastra asks for the model's form of a result by the result alone. A tool makes it of that alone.
      const contents = new Map<unknown, ReadonlyArray<unknown>>()
      return [
        name,
        createTool({
          id: name,
          description,
          inputSchema: schema as never,
          execute: async (input: unknown, context: object) => {
            const { abortSignal, agent } = context as Context
            const outcome = await execute(input, {
              id: agent?.toolCallId ?? globalThis.crypto.randomUUID(),
              signal: abortSignal
            })
            if (outcome._tag === "Unhandled") throw outcome.error
            if (outcome._tag !== "Success" || outcome.modelOutput === undefined) return outcome.result as never
            // Mastra asks for the model's form of no result, and takes `null` for none.
            const result = outcome.result ?? outcome.text
            contents.set(result, outcome.modelOutput.map(contentOf))
            return result as never
          },
          toModelOutput: (output: unknown) => {
            const content = contents.get(output)
            return content === undefined ? outputOf(output) : { type: "content", value: content }
          }
        }) as MastraTool
      ]
    })
  )

/**
 * The context of `execute` in Mastra, with the key of Recourse.
 *
 * @category models
 * @since 0.2.0
 */
export interface ExecuteContext {
  readonly abortSignal: AbortSignal
  readonly agent: { readonly toolCallId: string }
  /** The key to pass on to the service; `undefined` if the tool declares no `idempotency`. */
  readonly idempotencyKey: string | undefined
}

/**
 * Makes an executor of a tool of Mastra, for the `execute` of `Tool.fromStandardSchema`: the function stays as it is. It receives
 * `idempotencyKey` in its context. A validation error that Mastra returns is an exception. `catchError` makes an error of an exception. Default: the exception is the error.
 *
 * @category constructors
 * @since 0.2.0
 */
export const execute = <Input, Output, E = unknown>(
  tool: {
    readonly execute?: ((input: Input, context: never) => Promise<Output>) | undefined
    readonly inputSchema?: unknown
  },
  catchError?: (exception: unknown) => E
): (input: Input) => Effect.Effect<Output, E, ToolCall.ToolCall> =>
(input) =>
  ToolCall.tryPromise<Output, E>(
    async ({ id, idempotencyKey, signal }) => {
      const context: ExecuteContext = { abortSignal: signal, agent: { toolCallId: id }, idempotencyKey }
      const sent = ToolSchema.inputOf(tool.inputSchema, input) as Input
      const result = await tool.execute!(sent, context as never)
      if (isValidationError(result)) throw Object.assign(new Error(result.message), { validation: result })
      return result
    },
    catchError
  )

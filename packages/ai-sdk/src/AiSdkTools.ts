/**
 * Recovery for the tools of `generateText` and `streamText` (AI SDK 7): the loop stays the AI SDK's, and its calls belong
 * to one run of Recourse. Needs no package of the AI SDK at run time.
 */
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as ErrorProjection from "@recourse/core/ErrorProjection"
import * as ToolCall from "@recourse/core/ToolCall"
import * as ToolRun from "@recourse/core/ToolRun"
import { contentOf, type SdkContent } from "./internal/toolContent.ts"
export type { SdkContent } from "./internal/toolContent.ts"

/**
 * A tool of the AI SDK.
 *
 * @category models
 * @since 0.2.0
 */
export interface SdkTool {
  readonly description: string
  readonly inputSchema: ToolRun.LoopSchema
  readonly execute: (
    input: unknown,
    options: { readonly toolCallId: string; readonly abortSignal?: AbortSignal | undefined }
  ) => Promise<unknown>
  readonly toModelOutput: (options: { readonly toolCallId: string; readonly output: unknown }) => SdkOutput
}

/**
 * The model's form of a result in the AI SDK.
 *
 * @category models
 * @since 0.2.0
 */
export type SdkOutput =
  | { type: "json"; value: never }
  | { type: "error-json"; value: never }
  | { type: "text"; value: string }
  | { type: "content"; value: Array<SdkContent> }

/**
 * Settings of `generateText` and `streamText`.
 *
 * @category options
 * @since 0.2.0
 */
export interface Settings {
  /** The tools with recovery, under their names. */
  readonly tools: Record<string, SdkTool>
  /** Ends the loop when the run ends. */
  readonly abortSignal: AbortSignal
  /** Passes arguments on that the AI SDK would refuse: recovery repairs them, or the model reads the failure. */
  readonly repairToolCall: <Call extends { readonly toolName: string; readonly input: string }>(
    options: { readonly toolCall: Call }
  ) => Promise<Call | null>
}

const isFailure = Schema.is(ErrorProjection.ToolFailure)

const outputOf = (output: unknown): SdkOutput =>
  isFailure(output)
    ? { type: "error-json", value: output as never }
    : typeof output === "string"
    ? { type: "text", value: output }
    : { type: "json", value: (output ?? null) as never }

/**
 * Returns the tools of a run for `generateText` and `streamText`. The model's text for a failure is an `error-json` result. A call
 * with an error that no recovery handles throws it, and aborts `run.signal`: pass that as `abortSignal`, or use
 * {@link settings}.
 *
 * @category converting
 * @since 0.2.0
 */
export const tools = (run: ToolRun.Any): Record<string, SdkTool> => {
  const contents = new Map<string, ReadonlyArray<SdkContent>>()
  return Object.fromEntries(
    ToolRun.loopTools(run).map(({ description, execute, name, schema }) => [name, {
      description,
      inputSchema: schema,
      execute: async (input, { abortSignal, toolCallId, ...others }) => {
        // All calls of one answer have the same list of the messages before it.
        const { messages: answer } = others as { readonly messages?: unknown }
        const outcome = await execute(input, { id: toolCallId, signal: abortSignal, answer })
        if (outcome._tag === "Unhandled") throw outcome.error
        if (outcome._tag === "Success" && outcome.modelOutput !== undefined) {
          contents.set(toolCallId, outcome.modelOutput.map(contentOf))
        } else {
          // Some models use an id again in their next answer.
          contents.delete(toolCallId)
        }
        return outcome.result
      },
      toModelOutput: ({ output, toolCallId }) => {
        const content = contents.get(toolCallId)
        return content === undefined ? outputOf(output) : { type: "content", value: [...content] }
      }
    }])
  )
}

/**
 * Returns the settings of `generateText` and `streamText` that give a run its calls: the tools; a signal that ends the
 * loop with the run; and the way of broken arguments. Those reach the run as the model wrote them, and recovery may fix
 * them. `abortSignal` is a further signal that ends the loop and its calls.
 *
 * @category converting
 * @since 0.2.0
 */
export const settings = (
  run: ToolRun.Any,
  options?: { readonly abortSignal?: AbortSignal | undefined }
): Settings => ({
  tools: tools(run),
  abortSignal: options?.abortSignal === undefined ? run.signal : AbortSignal.any([run.signal, options.abortSignal]),
  repairToolCall: async ({ toolCall }) =>
    run.tools.some(({ name }) => name === toolCall.toolName)
      ? { ...toolCall, input: JSON.stringify(toolCall.input) }
      : null
})

/**
 * Options of the AI SDK's `execute`, with those of Recourse.
 *
 * @category options
 * @since 0.2.0
 */
export interface ExecuteOptions {
  /** Id of the call. */
  readonly toolCallId: string
  /** Empty: a call has no access to the conversation. */
  readonly messages: []
  /** Aborted if the attempt is interrupted, by its `timeout` for example. */
  readonly abortSignal: AbortSignal
  /** Absent: use services of effect. */
  readonly context: undefined
  /** The key to pass on to the service; `undefined` if the tool declares no `idempotency`. */
  readonly idempotencyKey: string | undefined
}

/**
 * The result of an `execute` of the AI SDK: of one that yields results, the last.
 *
 * @category utility types
 * @since 0.2.0
 */
export type ResultOf<Output> = Output extends AsyncIterable<infer Result> ? Result : Awaited<Output>

const isIterable = (value: unknown): value is AsyncIterable<unknown> =>
  typeof value === "object" && value !== null && Symbol.asyncIterator in value

const lastOf = async (results: unknown, signal: AbortSignal): Promise<unknown> => {
  if (!isIterable(results)) return results
  let last: unknown
  for await (const result of results) {
    // Returns from the generator: the caller has the outcome of the attempt, and further steps would be effects behind it.
    if (signal.aborted) break
    last = result
  }
  return last
}

/**
 * Makes an executor of a tool of the AI SDK, for the `execute` of `Tool.fromStandardSchema`: the function stays as it is. It
 * receives `idempotencyKey` in its options. `catchError` makes an error of an exception. Default: the exception is the error.
 *
 * @category constructors
 * @since 0.2.0
 */
export const execute = <Input, Output, E = unknown>(
  tool: { readonly execute?: ((input: Input, options: never) => Output) | undefined },
  catchError?: (exception: unknown) => E
): (input: Input) => Effect.Effect<ResultOf<Output>, E, ToolCall.ToolCall> =>
(input) =>
  ToolCall.tryPromise<ResultOf<Output>, E>(
    async ({ id, idempotencyKey, signal }) => {
      const options: ExecuteOptions = {
        toolCallId: id,
        messages: [],
        abortSignal: signal,
        context: undefined,
        idempotencyKey
      }
      return await lastOf(tool.execute!(input, options as never), signal) as ResultOf<Output>
    },
    catchError
  )

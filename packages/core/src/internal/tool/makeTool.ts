/** `Tool.make`: makes a tool of its options. */
import * as Schema from "effect/Schema"
import type * as Types from "effect/Types"
import * as AiTool from "effect/ai/Tool"
import type { Effects } from "../../Policy.ts"
import type { InvalidArgs, InvalidResult, NotApproved } from "../../ToolError.ts"
import type { ToolCall } from "../call/call.ts"
import type { HookServices, Inferred } from "../foundation/options/inferredOptions.ts"
import type { OnlyKnown } from "../foundation/options/misspeltName.ts"
import type { Kind } from "../foundation/options/optionCheck.ts"
import type { OtherNames } from "../foundation/options/foreignOptionNames.ts"
import { fromOptions, type IdempotencyOptions } from "../idempotency/idempotencyOptions.ts"
import { ToolFailure } from "../projection/toolFailure.ts"
import type {
  AnyIdempotency,
  ApprovalError,
  ApprovalServices,
  Approves,
  CompensatesWrites,
  DeclaresApprovalRequests,
  ExecuteError,
  Given,
  HasExecute,
  IdempotencyError,
  IdempotencyServices,
  SchemaServices,
  StatusError,
  StatusOf,
  TimeoutError,
  TransactionError,
  WriteError
} from "./callTypes.ts"
import { type Execute } from "./preliminaryResults.ts"
import { checkToolOptions, makeKinds } from "./toolOptionKinds.ts"
import type { Tool, Trust } from "./tool.ts"
import { define } from "./defineTool.ts"
import type { Options } from "./toolOptions.ts"

const kinds: Readonly<Record<keyof Options<never, never, 0, 0, 0, 0, 0, 0>, Kind>> = makeKinds

/**
 * Defines a tool.
 *
 * `execute` gets arguments that fit `parameters` and may fail with errors of its own, which are `ExecutionError<D>` in
 * the call's error type. `timeout` bounds one attempt, which is interrupted; it is `Timeout` in the error type. A
 * started write that neither succeeds nor fails with an error that `failure` declares as `not_done` is
 * `OutcomeUnknown`. Throws `ConfigurationError` for a name that models cannot call (letters, digits, `_` and `-`, at
 * most 64: the common rule of OpenAI's and Anthropic's tool APIs).
 *
 * **Example** (A tool that cannot fail in a way that ends a run)
 *
 * ```ts
 * import { Data, Effect, Schema } from "effect"
 * import { Recovery, Tool, ToolCall } from "@recourse/core"
 *
 * class NotJson extends Data.TaggedError("NotJson") {}
 *
 * const CountKeys = Tool.make("count_keys", {
 *   description: "Counts the top-level keys of a JSON object",
 *   parameters: Schema.Struct({ json: Schema.String }),
 *   success: Schema.Int,
 *   effects: "read",
 *   execute: ({ json }) =>
 *     Effect.try({ try: () => Object.keys(JSON.parse(json)).length, catch: () => new NotJson() })
 * }).pipe(
 *   Tool.onError((call) =>
 *     call.pipe(
 *       Recovery.escalate("InvalidArgs"),
 *       Effect.catchTag("ExecutionError", () => Effect.succeed(0))
 *     )
 *   )
 * )
 *
 * const call = (json: string) => ToolCall.make({ id: "c1", arguments: { json } })
 *
 * await Effect.runPromise(CountKeys.call.pipe(Effect.provideService(ToolCall.ToolCall, call("{\"a\":1}")))) // => 1
 * await Effect.runPromise(CountKeys.call.pipe(Effect.provideService(ToolCall.ToolCall, call("{a:1}")))) // => 0
 * ```
 *
 * @category constructors
 * @since 0.2.0
 */
export const make = <
  const Name extends string,
  Parameters extends Schema.Top = typeof AiTool.EmptyParams,
  SuccessSchema extends Schema.Top = typeof Schema.Void,
  D = never,
  R = never,
  const Eff extends Effects | undefined = undefined,
  const A extends Approves | undefined = undefined,
  const Tr extends Trust = "trusted",
  const Id extends AnyIdempotency<Parameters, SuccessSchema, D> = AnyIdempotency<Parameters, SuccessSchema, D>,
  O = Partial<Record<keyof Options<never, never, 0, 0, 0, 0, 0, 0>, unknown>>
>(
  name: Name,
  options:
    & HasExecute<O>
    & Options<Parameters, SuccessSchema, D, R, Eff, A, Tr, Id, O>
    & Inferred<O>
    & OnlyKnown<O, keyof Options<never, never, 0, 0, 0, 0, 0, 0>, OtherNames["tool"]>
    & DeclaresApprovalRequests<Types.NoInfer<D>, O>
    & CompensatesWrites<Given<O, "effects", Types.NoInfer<Eff>>, O>
): Tool<
  Name,
  // The inline type of a tool's parameters does not infer absent options.
  Types.NoInfer<Parameters>,
  Types.NoInfer<SuccessSchema>,
  | InvalidArgs
  | InvalidResult
  | ExecuteError<D>
  | TimeoutError<Given<O, "effects", Eff>, O, Given<O, "idempotency", Id>>
  | WriteError<Given<O, "effects", Eff>>
  | IdempotencyError<Given<O, "idempotency", Id>>
  | TransactionError<O>
  | StatusError<O>
  | ApprovalError<A, Tr>
  | ("mayRequestApproval" extends keyof O ? NotApproved : never),
  | Exclude<R | HookServices<O, "compensate" | "status"> | ApprovalServices<A>, ToolCall>
  | SchemaServices<Parameters, SuccessSchema>
  | IdempotencyServices<Given<O, "idempotency", Id>>
> => {
  checkToolOptions("make", name, options, kinds)
  const parameters = (options.parameters as Parameters | undefined) ?? AiTool.EmptyParams
  const success = (options.success as SuccessSchema | undefined) ?? Schema.Void
  return define({
    definition: AiTool.make(name, {
      description: options.description,
      parameters,
      success,
      failure: ToolFailure,
      failureMode: "return",
      toModelOutput: options.toModelOutput as never
    }),
    effects: options.effects,
    timeout: options.timeout,
    needsApproval: options.needsApproval,
    mayRequestApproval: options.mayRequestApproval,
    trust: options.trust,
    failure: options.failure,
    onUnknownKeys: options.onUnknownKeys,
    resultLimit: options.resultLimit,
    allowIdenticalCalls: options.allowIdenticalCalls,
    coalesce: options.coalesce as boolean | undefined,
    transaction: options.transaction as boolean | undefined,
    execute: options.execute as Execute,
    idempotency: options.idempotency &&
      fromOptions(options.idempotency as true | IdempotencyOptions<never, unknown, string>),
    status: options.status as StatusOf<unknown> | undefined,
    compensate: options.compensate
  }) as never
}

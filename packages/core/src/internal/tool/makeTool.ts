/** `Tool.make`: defines tools. */
/* oxlint-disable max-lines -- one declaration and its types, with an overload for each kind of tool */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Stream from "effect/Stream"
import type * as Types from "effect/Types"
import type * as Prompt from "effect/ai/Prompt"
import * as AiTool from "effect/ai/Tool"
import { ConfigurationError } from "../../ConfigurationError.ts"
import type { Effects } from "../../Policy.ts"
import type { InvalidArgs, InvalidResult } from "../../ToolError.ts"
import { make as makeAttempt } from "../call/attempt/attempt.ts"
import type { ToolCall } from "../call/call.ts"
import type { Compensation } from "../call/tool/toolCompensation.ts"
import type { OnUnknownKeys, ToolInfo } from "../call/tool/toolInfo.ts"
import type { Listed } from "../call/tool/toolList.ts"
import type { Keys, OnlyKnown } from "../foundation/options/misspeltName.ts"
import type { Kind } from "../foundation/options/optionCheck.ts"
import type { otherToolNames } from "../foundation/options/foreignOptionNames.ts"
import { fromOptions, type Idempotency, type IdempotencyOptions } from "../idempotency/idempotencyOptions.ts"
import { ToolFailure } from "../projection/toolFailure.ts"
import type {
  AnyIdempotency,
  ApprovalError,
  ApprovalRequestError,
  ApprovalServices,
  Approves,
  DeclaresApprovalRequests,
  ExecuteError,
  Given,
  HasExecute,
  IdempotencyError,
  IdempotencyServices,
  NeedsApproval,
  SchemaServices,
  StatusError,
  StatusOf,
  StatusServices,
  TimeoutError,
  TransactionError,
  UndoesWrites,
  WriteError
} from "./callTypes.ts"
import { fromRecovered } from "./checkResult.ts"
import { parametersOf } from "../foundation/schema/sentSchema.ts"
import { asEffect, type Execute } from "./preliminaryResults.ts"
import { checkToolOptions, makeKinds } from "./toolOptionKinds.ts"
import type { Any, Tool, Trust } from "./tool.ts"

/** The parameters of a status tool. */
const StatusParameters = Schema.Struct({
  task_id: Schema.String.annotate({ description: "The task_id that the tool answered" })
})

const namePattern = /^[a-zA-Z0-9_-]{1,64}$/

/** Options of a tool without its parameters. */
export interface BaseOptions<Params, SuccessSchema extends Schema.Top, D, R, Eff, T, A, Tr, Id, St, CR> {
  readonly description?: string | undefined
  readonly success?: SuccessSchema | undefined
  readonly effects?: Eff
  readonly timeout?: T
  /**
   * Treatment of unknown keys in the arguments: the call is refused, or it runs without the key. Default: `"refuse"`
   * for `effects: "write"`, because a dropped `dry_run: true` is another call than the intended one; `"drop"` for all
   * others.
   */
  readonly onUnknownKeys?: OnUnknownKeys | undefined
  /**
   * Number of characters of a result that the model reads: of a longer one it receives the beginning, in an
   * `ErrorProjection.TruncatedResult`. Code and events have the whole. `Infinity` is no limit. Default: the agent's,
   * 32,768.
   */
  readonly resultLimit?: number | undefined
  /**
   * The model's parts of a result: texts, pictures and files, made with `Prompt.textPart` and `Prompt.filePart`. Code,
   * events and the ledger have the result itself. The parts are guarded, redacted and marked like it; `resultLimit`
   * applies to their texts. A value that is no part fails with `InvalidResult`. A provider that takes text only
   * receives a notice instead of a file. Default: the result.
   */
  readonly toModelOutput?: ((result: SuccessSchema["Type"]) => ReadonlyArray<Prompt.ToolModelOutputPart>) | undefined
  /** True if a person has to approve a call: always, or by its arguments. The run pauses. Default: false. */
  readonly needsApproval?: NeedsApproval<Params, A>
  /**
   * Declares that `execute` calls tools that may need an approval: the run waits for them, and the agent's type
   * includes the pause. Without it, such a call is denied in `run` and `stream`, unless the agent may wait anyway.
   * Required if `execute` fails with `NotApproved`.
   */
  readonly mayRequestApproval?: true | undefined
  /** `"untrusted"`: the results hold text from outside (web pages, mail, other people's tools). */
  readonly trust?: Tr
  /** Schema of the errors of `execute`, annotated with their public texts: see `ErrorProjection.declare`. */
  readonly failure?: Schema.Top | undefined
  /**
   * Says that identical calls are meant: the tool returns a state that changes by itself, or takes a step each time. Then the agent's
   * `repeatedCalls` does not count them, and all equal calls of one answer are executed. Default: `false`: of equal calls of one answer the
   * first is executed and the others fail as `duplicate_call`, unless `effects` is `"read"` or `"idempotent"`, or `idempotency` has a `key`, by
   * which they are one. A tool's `status` always polls.
   */
  readonly allowIdenticalCalls?: boolean | undefined
  /**
   * Says that calls of one answer with the same arguments are one: the tool is executed once, and each call has its result. For
   * `effects: "read"`. Default: `false`.
   */
  readonly coalesce?: (Eff extends "read" ? boolean : never) | undefined
  /**
   * Runs the tool. Of a Stream the last element is the result; each element is emitted (`ToolPreliminaryResult`), and
   * the model reads the result only. The last type is a sentence: no value has it, and the compiler shows it for an
   * executor that returns a promise.
   */
  readonly execute: (
    params: Params
  ) =>
    | Effect.Effect<SuccessSchema["Type"], D, R>
    | Stream.Stream<SuccessSchema["Type"], D, R>
    | { readonly "execute has to answer an Effect: wrap a promise in Effect.tryPromise": never }
  /**
   * Calls are done once for each key, across retries and restarts. It says that `execute` passes `ToolCall.idempotencyKey`
   * on to a service that honours it: so a write whose outcome is unknown may be repeated under its key. Needs an
   * `IdempotencyLedger`.
   */
  readonly idempotency?: Id
  /**
   * True if `execute` only writes to the database of the durable runs, by the same `SqlClient`. Its writes are
   * committed with the outcome of the call, so that each call is executed once, also after crashes. A failure rolls it
   * back, and the call may be repeated. For `effects: "write"` without `idempotency`. It has no effect in a run that is
   * not durable. Default: `false`.
   */
  readonly transaction?: (Eff extends "write" ? boolean : never) | undefined
  /**
   * Compensates a call when the run of an agent with `compensation` fails. It receives the arguments and the result;
   * `ToolCall.idempotencyKey` is a key for the compensation, the same in each attempt. It has the tool's `timeout`, or
   * the agent's. For tools with effects, and not for `effects: "read"`. Its failure is reported in `NotCompensated`.
   */
  readonly compensate?:
    | ((params: Params, result: Types.NoInfer<SuccessSchema>["Type"]) => Effect.Effect<unknown, unknown, CR>)
    | undefined
  /**
   * Returns the state of a task that `execute` has started with `ToolCall.pending`: its result, or `ToolCall.pending`
   * again. The model is offered it as the tool `{name}_status` once a task is pending. It is a read, under the same
   * recovery as the tool.
   */
  readonly status?: St
}

/** Options of a tool. */
export interface Options<
  Parameters extends Schema.Top,
  SuccessSchema extends Schema.Top,
  D,
  R,
  Eff,
  T,
  A,
  Tr,
  Id,
  St,
  CR = never
> extends BaseOptions<Parameters["Type"], SuccessSchema, D, R, Eff, T, A, Tr, Id, St, CR> {
  /**
   * The arguments. The last type is a sentence: no value has it, and the compiler reports it for a zod schema or a plain object. For a
   * JSON Schema there is {@link fromJsonSchema}.
   */
  readonly parameters?:
    | Parameters
    | { readonly "parameters is a Schema of effect: Schema.Struct({ city: Schema.String })": never }
    | undefined
}

/** The names of options. */
type OptionName = keyof Options<never, never, 0, 0, 0, 0, 0, 0, 0, 0>

const kinds: Readonly<Record<OptionName, Kind>> = makeKinds

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
 */
export const make = <
  const Name extends string,
  Parameters extends Schema.Top = typeof AiTool.EmptyParams,
  SuccessSchema extends Schema.Top = typeof Schema.Void,
  D = never,
  R = never,
  const Eff extends Effects | undefined = undefined,
  const T extends Duration.Input | undefined = undefined,
  const A extends Approves | undefined = undefined,
  const Tr extends Trust = "trusted",
  const Id extends AnyIdempotency<Parameters, SuccessSchema, D> = AnyIdempotency<Parameters, SuccessSchema, D>,
  St extends StatusOf<SuccessSchema["Type"]> | undefined = StatusOf<SuccessSchema["Type"]> | undefined,
  CR = never,
  O = { readonly [_ in OptionName]?: unknown }
>(
  name: Name,
  options:
    & HasExecute<O>
    & Options<Parameters, SuccessSchema, D, R, Eff, T, A, Tr, Id, St, CR>
    & Keys<O>
    & OnlyKnown<O, OptionName, typeof otherToolNames>
    & DeclaresApprovalRequests<Types.NoInfer<D>, O>
    & UndoesWrites<Given<O, "effects", Types.NoInfer<Eff>>, O>
): Tool<
  Name,
  // The inline type of a tool's parameters does not infer absent options.
  Types.NoInfer<Parameters>,
  Types.NoInfer<SuccessSchema>,
  | InvalidArgs
  | InvalidResult
  | ExecuteError<D>
  | TimeoutError<Given<O, "effects", Eff>, T, Given<O, "idempotency", Id>>
  | WriteError<Given<O, "effects", Eff>>
  | IdempotencyError<Given<O, "idempotency", Id>>
  | TransactionError<O, T>
  | StatusError<Given<O, "status", St>, T>
  | ApprovalError<A, Tr>
  | ApprovalRequestError<O>,
  | Exclude<R | Types.NoInfer<CR> | StatusServices<Given<O, "status", St>> | ApprovalServices<A>, ToolCall>
  | SchemaServices<Parameters, SuccessSchema>
  | IdempotencyServices<Given<O, "idempotency", Id>>
> => {
  checkToolOptions("make", name, options, kinds)
  const parameters = (options.parameters as Parameters | undefined) ?? AiTool.EmptyParams
  const success = options.success ?? Schema.Void
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
    status: options.status,
    compensate: options.compensate
  }) as never
}

const approvalOf = (
  needs: NeedsApproval<never, Approves | undefined> | undefined
): ToolInfo["approval"]["isNeeded"] => {
  if (needs === undefined || needs === false) return undefined
  return (params, toolCallId) =>
    Effect.suspend(() => {
      const answer = typeof needs === "function" ? needs(params, { toolCallId }) : needs
      return Effect.isEffect(answer) ? answer : Effect.succeed(answer === true)
    })
}

/** @internal Makes a tool from a definition of `effect/ai`. */
// oxlint-disable-next-line max-lines-per-function -- one declaration is checked and completed
export const define = (options: {
  /** A dynamic one has the JSON Schema that models are sent (`modelDefinition`). */
  readonly definition: AiTool.Any
  /** Schema that checks arguments. Default: the definition's. */
  readonly parameters?: Schema.Top | undefined
  /** Unchecked parts of the arguments, listed by the tool. */
  readonly unchecked?: ReadonlyArray<string> | undefined
  readonly effects: Effects | undefined
  readonly timeout: Duration.Input | undefined
  readonly maxTimeout?: Duration.Input | undefined
  readonly listed?: Listed | undefined
  readonly needsApproval?: NeedsApproval<never, Approves | undefined> | undefined
  readonly mayRequestApproval?: boolean | undefined
  readonly trust?: Trust | undefined
  readonly failure?: Schema.Top | undefined
  readonly onUnknownKeys?: OnUnknownKeys | undefined
  readonly resultLimit?: number | undefined
  readonly allowIdenticalCalls?: boolean | undefined
  readonly coalesce?: boolean | undefined
  readonly transaction?: boolean | undefined
  readonly client?: ToolInfo["client"]
  readonly execute: Execute
  readonly idempotency?: Idempotency | "never" | undefined
  readonly status?: StatusOf<unknown> | undefined
  readonly compensate?: Compensation["undo"] | undefined
}): Any => {
  const { effects } = options
  const parameters = options.parameters ?? options.definition.parametersSchema as Schema.Top
  const name: string = options.definition.name
  if (!namePattern.test(name)) {
    throw new ConfigurationError({
      subject: `Tool "${name}"`,
      problem: "a name is 1 to 64 letters, digits, underscores and hyphens"
    })
  }
  const timeout = options.timeout === undefined ? undefined : Duration.fromInputUnsafe(options.timeout)
  if (timeout !== undefined && !(Duration.toMillis(timeout) > 0)) {
    throw new ConfigurationError({ subject: `Tool "${name}"`, problem: "timeout must be longer than 0" })
  }
  const maxTimeout = options.maxTimeout === undefined ? undefined : Duration.fromInputUnsafe(options.maxTimeout)
  if (maxTimeout !== undefined && (timeout === undefined || Duration.isLessThan(maxTimeout, timeout))) {
    throw new ConfigurationError({
      subject: `Tool "${name}"`,
      problem: "maxTimeout needs a timeout, and is not shorter than it"
    })
  }
  if (options.resultLimit !== undefined && !(options.resultLimit > 0)) {
    throw new ConfigurationError({ subject: `Tool "${name}"`, problem: "resultLimit must be more than 0" })
  }
  if (options.coalesce === true && effects !== "read") {
    throw new ConfigurationError({ subject: `Tool "${name}"`, problem: "coalesce is for tools with effects: \"read\"" })
  }
  if (options.transaction === true && (effects !== "write" || options.idempotency !== undefined)) {
    throw new ConfigurationError({
      subject: `Tool "${name}"`,
      problem: "transaction is for tools with effects: \"write\" and without idempotency"
    })
  }
  if (options.compensate !== undefined && effects === "read") {
    throw new ConfigurationError({ subject: `Tool "${name}"`, problem: "compensate is for tools that do something" })
  }
  const { definition: sent } = options
  const asked = options.needsApproval === undefined || sent.needsApproval !== undefined
    ? sent
    : sent.setNeedsApproval(
      (params, { toolCallId }) => (approvalOf(options.needsApproval)?.(params as never, toolCallId) ?? false) as never
    )
  const definition: AiTool.Any = effects === undefined ? asked : asked
    .annotate(AiTool.Readonly, effects === "read")
    .annotate(AiTool.Destructive, effects === "write")
    .annotate(AiTool.Idempotent, effects !== "write")
  let jsonSchema: unknown
  const info: ToolInfo = {
    name,
    description: {
      text: definition.description,
      jsonSchema: () => jsonSchema ??= parametersOf(definition),
      isForeign: options.trust === "untrusted" && AiTool.isDynamic(definition)
    },
    effects,
    onUnknownKeys: options.onUnknownKeys ?? (effects === "write" ? "refuse" : "drop"),
    approval: {
      isNeeded: approvalOf(options.needsApproval),
      mayBeRequested: options.mayRequestApproval === true
    },
    failure: options.failure,
    success: definition.successSchema,
    results: { limit: options.resultLimit, areUntrusted: options.trust === "untrusted" },
    equalCalls: {
      allowIdenticalCalls: options.allowIdenticalCalls,
      coalesce: options.coalesce,
      hasKeyFunction: typeof options.idempotency === "object" && options.idempotency.key !== undefined
    },
    isTransaction: options.transaction,
    client: options.client,
    listed: options.listed,
    passesKey: options.idempotency !== undefined && options.idempotency !== "never"
  }
  const { compensate, status } = options
  const attempt = makeAttempt({
    info,
    parameters: parameters as Schema.Decoder<never, unknown>,
    success: definition.successSchema,
    idempotency: options.idempotency,
    timeout,
    maxTimeout,
    execute: asEffect(info, definition.successSchema, options.execute)
  })
  if (compensate !== undefined) {
    const compensation: Compensation = {
      undo: compensate,
      attempt: attempt as Compensation["attempt"],
      parameters,
      success: definition.successSchema,
      timeout,
      canReconcile: typeof options.idempotency === "object" && options.idempotency.reconcile !== undefined
    }
    Object.assign(info, { compensation })
  }
  return fromRecovered({
    name,
    info,
    status: status && define({
      definition: AiTool.make(`${name}_status`, {
        description: `The state of a task that ${name} has started`,
        parameters: StatusParameters,
        success: definition.successSchema,
        failure: ToolFailure,
        failureMode: "return"
      }),
      effects: "read",
      timeout: options.timeout,
      trust: options.trust,
      failure: options.failure,
      resultLimit: options.resultLimit,
      allowIdenticalCalls: true,
      execute: ({ task_id }: typeof StatusParameters.Type) => status(task_id),
      idempotency: "never"
    }),
    description: definition.description,
    parameters,
    unchecked: options.unchecked ?? [],
    success: definition.successSchema,
    effects,
    trust: options.trust ?? "trusted",
    definition,
    recovered: attempt
  })
}

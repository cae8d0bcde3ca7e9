/** Client tools: tools that the page executes. A call pauses its run as an approval does; the page gives its result or its failure. */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as JsonSchema from "effect/JsonSchema"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type * as Types from "effect/Types"
import * as AiTool from "effect/ai/Tool"
import type { Effects } from "../../Policy.ts"
import { Escalation, ExecutionError, type InvalidArgs, type InvalidResult, type NotApproved } from "../../ToolError.ts"
import { ToolCall } from "../call/call.ts"
import { declare } from "../projection/declaration.ts"
import { ToolFailure } from "../projection/toolFailure.ts"
import { ConfigurationError } from "../../ConfigurationError.ts"
import { escalateError } from "../recovery/escalate.ts"
import type { SchemaServices, WriteError } from "./callTypes.ts"
import { schemaFromJsonSchema } from "./from/jsonSchemaParameters.ts"
import { checkName } from "../foundation/options/checkName.ts"
import { otherToolNames } from "../foundation/options/foreignOptionNames.ts"
import { checkOptions, type Kind } from "../foundation/options/optionCheck.ts"
import { anObjectSchema } from "./from/schemaKind.ts"
import { baseKinds } from "./toolOptionKinds.ts"
import { define } from "./defineTool.ts"
import { modelDefinition } from "./modelDefinition.ts"
import { onError } from "./onToolError.ts"
import type { Any, Tool, Trust } from "./tool.ts"

/**
 * The page did not give a result. `failed`: the page says so. `timeout`: it did not answer within the tool's `timeout`.
 * An error that the tool's `failure` schema reads is the error of the call in place of this one.
 *
 * @category errors
 * @since 0.2.0
 */
export class ClientToolFailed extends Schema.TaggedError<ClientToolFailed>()("ClientToolFailed", {
  tool: Schema.String,
  reason: Schema.Literals(["failed", "timeout"])
}) {
  override get message(): string {
    return this.reason === "timeout"
      ? `The page did not answer the call of "${this.tool}" in time`
      : `The page could not execute "${this.tool}"`
  }
}

const Failed = Schema.declare(
  (error: unknown): error is ClientToolFailed => error instanceof ClientToolFailed && error.reason === "failed"
).annotate(declare<ClientToolFailed>({ code: "execution_error", model: "The page could not do it." }))

const TimedOut = Schema.declare(
  (error: unknown): error is ClientToolFailed => error instanceof ClientToolFailed && error.reason === "timeout"
).annotate(declare<ClientToolFailed>({
  code: "timeout",
  model: "The page did not answer in time.",
  transient: false
}))

/**
 * The declaration of a client tool.
 *
 * @category options
 * @since 0.2.0
 */
export interface ClientOptions<
  Parameters extends Schema.Top,
  SuccessSchema extends Schema.Top,
  F extends Schema.Top,
  Eff,
  Tr
> {
  /** Purpose of the tool, which the model reads. Default: none. */
  readonly description?: string | undefined
  /** The schema of the arguments. Default: none. */
  readonly parameters?: Parameters | undefined
  /**
   * The schema of the page's result, for its JSON. A result that does not fit is refused, and the call still waits.
   * Default: any JSON.
   */
  readonly success?: SuccessSchema | undefined
  /** The schema of the page's errors, with their public texts: see `ErrorProjection.declare`. */
  readonly failure?: F | undefined
  /**
   * Effects of the page's execution. A call of a `"write"` that is stopped or fails is `OutcomeUnknown`. Default: not
   * declared.
   */
  readonly effects?: Eff
  /**
   * Time limit of the page. Then the model learns that it did not answer. Default: the agent's `approval.timeToLive`,
   * 24 hours.
   */
  readonly timeout?: Duration.Input | undefined
  /** Default: `"untrusted"`. The model gets a result in an envelope, and the run is tainted. */
  readonly trust?: Tr
  /** Number of characters of a result that the model reads. Default: the agent's, 32,768. */
  readonly resultLimit?: number | undefined
}

const clientKinds: Readonly<Record<keyof ClientOptions<never, never, never, never, never>, Kind>> = {
  description: baseKinds.description,
  parameters: anObjectSchema,
  success: baseKinds.success,
  failure: baseKinds.failure,
  effects: baseKinds.effects,
  timeout: baseKinds.timeout,
  trust: baseKinds.trust,
  resultLimit: baseKinds.resultLimit
}

/** The page's failure as the tool's error. */
const failureOf = (tool: string, failure: Schema.Top | undefined) => {
  const undeclared = (reason: ClientToolFailed["reason"]) => new ClientToolFailed({ tool, reason })
  const decode = failure === undefined ? undefined : Schema.decodeUnknownOption(
    Schema.toCodecJson(failure) as unknown as Schema.Codec<unknown>
  )
  return ({ error, isLate }: { readonly error: unknown; readonly isLate: boolean }): unknown =>
    isLate
      ? undeclared("timeout")
      : Option.getOrElse(decode?.(error) ?? Option.none(), () => undeclared("failed"))
}

const clientOf = (
  definition: AiTool.Any,
  parameters: Schema.Top | undefined,
  unchecked: ReadonlyArray<string>,
  options: ClientOptions<Schema.Top, Schema.Top, Schema.Top, Effects | undefined, Trust | undefined>,
  page?: ReadonlySet<string>
): Any => {
  const { failure, timeout } = options
  const name: string = definition.name
  const millis = timeout === undefined ? undefined : Duration.toMillis(Duration.fromInputUnsafe(timeout))
  if (millis !== undefined && !(millis > 0)) {
    throw new ConfigurationError({ subject: `Tool "${name}"`, problem: "timeout must be longer than 0" })
  }
  const errorOf = failureOf(name, failure)
  const tool = define({
    definition,
    ...(parameters === undefined ? undefined : { parameters }),
    unchecked,
    effects: options.effects,
    timeout: undefined,
    needsApproval: true,
    trust: options.trust ?? "untrusted",
    failure: Schema.Union([...(failure === undefined ? [] : [failure]), Failed, TimedOut]),
    resultLimit: options.resultLimit,
    client: { effects: options.effects, timeout: millis, page },
    // A call reaches this only with the page's failure: its result replaces an execution.
    execute: () => Effect.flatMap(ToolCall, ({ record }) => Effect.fail(errorOf(record.admission.clientFailure!)))
  })
  return recoveredBy(tool, (error) => error instanceof ExecutionError && error.reason instanceof ClientToolFailed)
}

/** A tool that hands some of its errors to the model. */
const recoveredBy = (tool: Any, escalates: (error: unknown) => boolean): Any =>
  onError(
    tool as never,
    ((call: Effect.Effect<unknown, unknown, ToolCall>) =>
      Effect.catch(call, (error) => escalates(error) ? escalateError(error) : Effect.fail(error))) as never
  ) as never

/**
 * Defines a tool that the page executes: `useChat`'s client tools, AG-UI's tools, a browser behind the server's own routes.
 *
 * A call with valid arguments pauses the run as an approval does, with the code `client_tool`, and survives reload and restart like
 * one. `Approval.respond` gives the page's result, `Approval.fail` its failure, `Approval.reject` says that the user declined. A result
 * is checked by `success`, and is untrusted unless `trust` says otherwise. Policies decide before the page is asked.
 *
 * A failure of the page and a `timeout` are reported to the model in an `Escalation`. An error that `failure` decodes
 * is the call's `ExecutionError`, for the recovery of the tool and of its agent. Throws `ConfigurationError` for a name
 * that models cannot call, and for a `timeout` of 0.
 *
 * **Example** (A tool of the page)
 *
 * ```ts
 * import { Schema } from "effect"
 * import { Tool } from "@recourse/core"
 *
 * const Position = Tool.client("position", {
 *   description: "The position of the user's device",
 *   success: Schema.Struct({ latitude: Schema.Number, longitude: Schema.Number }),
 *   effects: "read",
 *   timeout: "2 minutes"
 * })
 *
 * Position.trust // => "untrusted"
 * ```
 *
 * @category constructors
 * @since 0.2.0
 */
export const client = <
  const Name extends string,
  Parameters extends Schema.Top = typeof AiTool.EmptyParams,
  SuccessSchema extends Schema.Top = typeof Schema.Json,
  F extends Schema.Top = typeof Schema.Never,
  const Eff extends Effects | undefined = undefined,
  const Tr extends Trust = "untrusted"
>(
  name: Name,
  options: ClientOptions<Parameters, SuccessSchema, F, Eff, Tr> = {}
): Tool<
  Name,
  // The inline type of a tool's parameters does not infer absent options.
  Types.NoInfer<Parameters>,
  Types.NoInfer<SuccessSchema>,
  | InvalidArgs
  | InvalidResult
  | ([F["Type"]] extends [never] ? never : ExecutionError<F["Type"]>)
  | Escalation
  | WriteError<Eff>
  | NotApproved,
  SchemaServices<Parameters, SuccessSchema>
> => {
  checkName("Tool.client", "tool", "position", name)
  checkOptions(`Tool "${name}"`, options, { kinds: clientKinds, otherNames: otherToolNames })
  return clientOf(
    AiTool.make(name, {
      description: options.description,
      parameters: options.parameters ?? AiTool.EmptyParams,
      success: options.success ?? Schema.Json,
      failure: ToolFailure,
      failureMode: "return"
    }),
    undefined,
    [],
    options as never
  ) as never
}

/**
 * A tool that a request declares.
 *
 * @category models
 * @since 0.2.0
 */
export interface RequestTool {
  readonly name: string
  readonly description?: string | undefined
  /** The JSON Schema of an object. Default: an object of any kind. */
  readonly parameters?: JsonSchema.JsonSchema | undefined
}

const anyObject: JsonSchema.JsonSchema = { type: "object" }

/**
 * Makes a client tool that only a request declares: its description, parameters and results are untrusted, and none of
 * its failures ends the run. Throws `ConfigurationError` for a name that models cannot call, and for an invalid schema.
 * `page`: the sources of the same page's texts.
 */
export const requestTool = (
  { description, name, parameters = anyObject }: RequestTool,
  page: ReadonlySet<string>
): Any => {
  const { schema, unchecked } = schemaFromJsonSchema(`Tool "${name}"`, parameters, { unchecked: "any" })
  const tool = clientOf(
    modelDefinition(
      AiTool.dynamic(name, {
        description,
        parameters,
        success: Schema.Json,
        failure: ToolFailure,
        failureMode: "return"
      }).annotate(AiTool.Strict, false)
    ),
    schema,
    unchecked,
    { trust: "untrusted" },
    page
  )
  return recoveredBy(tool, (error) => !(error instanceof Escalation))
}

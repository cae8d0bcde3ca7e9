/** Tools from a JSON Schema of their parameters. */
import type * as JsonSchema from "effect/JsonSchema"
import type * as Schema from "effect/Schema"
import type * as Types from "effect/Types"
import type { Effects } from "../../../Policy.ts"
import type { JsonSchemaOptions } from "../../foundation/schema/jsonSchemaImport.ts"
import type { HookServices, Inferred } from "../../foundation/options/inferredOptions.ts"
import type { OnlyKnown } from "../../foundation/options/misspeltName.ts"
import type { Kind } from "../../foundation/options/optionCheck.ts"
import type { OtherNames } from "../../foundation/options/foreignOptionNames.ts"
import type { ToolCall } from "../../call/call.ts"
import type { InvalidArgs, InvalidResult, NotApproved } from "../../../ToolError.ts"
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
  TimeoutError,
  TransactionError,
  WriteError
} from "../callTypes.ts"
import { type JsonObject, type JsonParameters, schemaFromJsonSchema } from "./jsonSchemaParameters.ts"
import { jsonSchemaTool } from "./jsonSchemaTool.ts"
import type { BaseOptions, UnknownKeysOption } from "../toolOptions.ts"
import { checkToolOptions, jsonSchemaKinds } from "../toolOptionKinds.ts"
import type { Tool, Trust } from "../tool.ts"

/**
 * Options of a tool whose parameters are a JSON Schema.
 *
 * @category options
 * @since 0.2.0
 */
export interface JsonSchemaToolOptions<SuccessSchema extends Schema.Top, D, R, Eff, A, Tr, Id, O = {}>
  extends BaseOptions<JsonObject, SuccessSchema, D, R, Eff, A, Tr, Id, O>, UnknownKeysOption, JsonSchemaOptions
{
  /** The JSON Schema of an object, of draft 7 or 2020-12. The model is sent it as it is. */
  readonly parameters: JsonSchema.JsonSchema
}

const kinds: Readonly<Record<keyof JsonSchemaToolOptions<never, 0, 0, 0, 0, 0, 0>, Kind>> = jsonSchemaKinds

/**
 * Defines a tool by a JSON Schema, without an Effect Schema: for documents of other people, of an OpenAPI, of a
 * database.
 *
 * Arguments are checked by the schema before `execute`, and fail as `InvalidArgs` like those of {@link make}, which has
 * the same other options. Throws `ConfigurationError` for a keyword that cannot be checked, unless `unchecked` names
 * it; `tool.unchecked` lists the unchecked parts. Regular expressions are not applied unless `patterns` is `"apply"`. A
 * closed object (`additionalProperties: false`) refuses unknown keys if `onUnknownKeys` is `"refuse"`, and drops them
 * otherwise; one without any properties always refuses them.
 *
 * **Example** (A tool from a JSON Schema)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Tool, ToolCall } from "@recourse/core"
 *
 * const Double = Tool.fromJsonSchema("double", {
 *   parameters: { type: "object", properties: { n: { type: "number" } }, required: ["n"] },
 *   success: Schema.Number,
 *   execute: ({ n }) => Effect.succeed(Number(n) * 2)
 * })
 *
 * const call = (args: unknown) =>
 *   Double.call.pipe(
 *     Effect.catchTag("InvalidArgs", () => Effect.succeed(0)),
 *     Effect.provideService(ToolCall.ToolCall, ToolCall.make({ id: "c1", arguments: args }))
 *   )
 *
 * await Effect.runPromise(call({ n: 21 })) // => 42
 * await Effect.runPromise(call({ n: "21" })) // => 0
 * ```
 *
 * @category constructors
 * @since 0.2.0
 */
export const fromJsonSchema = <
  const Name extends string,
  SuccessSchema extends Schema.Top = typeof Schema.Void,
  D = never,
  R = never,
  const Eff extends Effects | undefined = undefined,
  const A extends Approves | undefined = undefined,
  const Tr extends Trust = "trusted",
  const Id extends AnyIdempotency<JsonParameters, SuccessSchema, D> = AnyIdempotency<JsonParameters, SuccessSchema, D>,
  O = Partial<Record<keyof JsonSchemaToolOptions<never, 0, 0, 0, 0, 0, 0>, unknown>>
>(
  name: Name,
  options:
    & HasExecute<O>
    & JsonSchemaToolOptions<SuccessSchema, D, R, Eff, A, Tr, Id, O>
    & Inferred<O>
    & OnlyKnown<O, keyof JsonSchemaToolOptions<never, 0, 0, 0, 0, 0, 0>, OtherNames["tool"]>
    & DeclaresApprovalRequests<Types.NoInfer<D>, O>
    & CompensatesWrites<Given<O, "effects", Types.NoInfer<Eff>>, O>
): Tool<
  Name,
  JsonParameters,
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
  | SchemaServices<JsonParameters, SuccessSchema>
  | IdempotencyServices<Given<O, "idempotency", Id>>
> => {
  checkToolOptions("fromJsonSchema", name, options, kinds)
  const given: JsonSchemaToolOptions<SuccessSchema, D, R, Eff, A, Tr, Id, O> = options
  const { schema, unchecked } = schemaFromJsonSchema(`Tool "${name}"`, given.parameters, given)
  return jsonSchemaTool(name, given as never, { jsonSchema: given.parameters, schema, unchecked }) as never
}

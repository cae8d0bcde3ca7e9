/** Tools from a Standard Schema of their parameters: of zod, valibot, arktype and other libraries. */
import type * as JsonSchema from "effect/JsonSchema"
import type * as Schema from "effect/Schema"
import type { StandardSchemaV1 } from "effect/StandardSchema"
import type * as Types from "effect/Types"
import { ConfigurationError } from "../../../ConfigurationError.ts"
import type { Effects } from "../../../Policy.ts"
import type { HookServices, Inferred } from "../../foundation/options/inferredOptions.ts"
import type { OnlyKnown } from "../../foundation/options/misspeltName.ts"
import { anObject, type Kind } from "../../foundation/options/optionCheck.ts"
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
import { aStandardSchema } from "./standardSchemaKind.ts"
import { schemaFromStandard, sentJsonSchema, type StandardParameters } from "./standardSchemaParameters.ts"
import { jsonSchemaTool } from "./jsonSchemaTool.ts"
import type { BaseOptions } from "../toolOptions.ts"
import { baseKinds, checkToolOptions } from "../toolOptionKinds.ts"
import type { Tool, Trust } from "../tool.ts"

/**
 * Options of a tool whose parameters are a Standard Schema.
 *
 * @category options
 * @since 0.2.0
 */
export interface StandardSchemaToolOptions<
  S extends StandardSchemaV1,
  SuccessSchema extends Schema.Top,
  D,
  R,
  Eff,
  A,
  Tr,
  Id,
  O = {}
> extends BaseOptions<StandardSchemaV1.InferOutput<S>, SuccessSchema, D, R, Eff, A, Tr, Id, O> {
  /**
   * The schema of an object, of zod 4, valibot 1, arktype 2 or another library with the Standard Schema interface. The
   * last type is a sentence: no value has it, and the compiler reports it for other values.
   */
  readonly parameters:
    | S
    | { readonly "parameters is a Standard Schema: for a Schema of effect use Tool.make": never }
  /**
   * The JSON Schema that the model is sent. Default: the schema's own (`~standard.jsonSchema`), of its input. Required
   * if the schema has none.
   */
  readonly jsonSchema?: JsonSchema.JsonSchema | undefined
}

/**
 * Requires a JSON Schema if the schema does not convert itself.
 *
 * @category utility types
 * @since 0.2.0
 */
export type HasJsonSchema<S, O> = S extends Record<"~standard", Record<"jsonSchema", object>> ? unknown
  : "jsonSchema" extends keyof O ? unknown
  : {
    readonly jsonSchema:
      "This schema does not convert itself: pass its JSON Schema as `jsonSchema`, or wrap valibot's by toStandardJsonSchema."
  }

const kinds: Readonly<Record<keyof StandardSchemaToolOptions<never, never, 0, 0, 0, 0, 0, 0>, Kind>> = {
  ...baseKinds,
  parameters: aStandardSchema,
  jsonSchema: anObject
}

/**
 * Defines a tool by a Standard Schema, without an Effect Schema: for schemas of zod 4, valibot 1 and arktype 2 that a
 * program has already.
 *
 * The schema validates the arguments before `execute`, also those that a person or a fixer has edited. They fail as
 * `InvalidArgs` with the paths and the messages of the schema; a message that quotes the value has "…" in its place.
 * `execute` receives the schema's output. Approvals, keys, events and stored runs have its input. The schema decides
 * about unknown keys: use a strict one for writes, because a dropped `dry_run: true` is another call than the intended
 * one. The other options are those of {@link make}.
 *
 * The model is sent the JSON Schema of the input: `~standard.jsonSchema` (zod 4.2, arktype 2.1.28, valibot by
 * `toStandardJsonSchema` of `@valibot/to-json-schema`), or the option `jsonSchema`. Throws `ConfigurationError` if both
 * are missing. A validator that throws or rejects is a defect of the call, and so is one that is pending after `timeout`.
 *
 * **Example** (A tool from a Standard Schema, here written by hand)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import type { StandardSchema } from "effect"
 * import { Tool, ToolCall } from "@recourse/core"
 *
 * const Size: StandardSchema.StandardSchemaV1<{ size: string }, { size: number }> = {
 *   "~standard": {
 *     version: 1,
 *     vendor: "example",
 *     validate: (value) => {
 *       const size = Number((value as { size?: unknown }).size)
 *       return size > 0 ? { value: { size } } : { issues: [{ message: "use a size above 0", path: ["size"] }] }
 *     }
 *   }
 * }
 *
 * const Double = Tool.fromStandardSchema("double", {
 *   parameters: Size,
 *   jsonSchema: { type: "object", properties: { size: { type: "string" } }, required: ["size"] },
 *   success: Schema.Number,
 *   execute: ({ size }) => Effect.succeed(size * 2)
 * })
 *
 * const call = (args: unknown) =>
 *   Double.call.pipe(
 *     Effect.catchTag("InvalidArgs", ({ issues }) => Effect.succeed(issues[0]?.expected)),
 *     Effect.provideService(ToolCall.ToolCall, ToolCall.make({ id: "c1", arguments: args }))
 *   )
 *
 * await Effect.runPromise(call({ size: "21" })) // => 42
 * await Effect.runPromise(call({ size: "0" })) // => "use a size above 0"
 * ```
 *
 * @category constructors
 * @since 0.2.0
 */
export const fromStandardSchema = <
  const Name extends string,
  S extends StandardSchemaV1,
  SuccessSchema extends Schema.Top = typeof Schema.Void,
  D = never,
  R = never,
  const Eff extends Effects | undefined = undefined,
  const A extends Approves | undefined = undefined,
  const Tr extends Trust = "trusted",
  const Id extends AnyIdempotency<StandardParameters<S>, SuccessSchema, D> = AnyIdempotency<
    StandardParameters<S>,
    SuccessSchema,
    D
  >,
  O = Partial<Record<keyof StandardSchemaToolOptions<never, never, 0, 0, 0, 0, 0, 0>, unknown>>
>(
  name: Name,
  options:
    & HasExecute<O>
    & StandardSchemaToolOptions<S, SuccessSchema, D, R, Eff, A, Tr, Id, O>
    & Inferred<O>
    & HasJsonSchema<Types.NoInfer<S>, O>
    & OnlyKnown<O, keyof StandardSchemaToolOptions<never, never, 0, 0, 0, 0, 0, 0>, OtherNames["standardTool"]>
    & DeclaresApprovalRequests<Types.NoInfer<D>, O>
    & CompensatesWrites<Given<O, "effects", Types.NoInfer<Eff>>, O>
): Tool<
  Name,
  StandardParameters<S>,
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
  | SchemaServices<StandardParameters<S>, SuccessSchema>
  | IdempotencyServices<Given<O, "idempotency", Id>>
> => {
  checkToolOptions("fromStandardSchema", name, options, kinds)
  const given: StandardSchemaToolOptions<S, SuccessSchema, D, R, Eff, A, Tr, Id, O> = options
  const subject = `Tool "${name}"`
  const parameters = given.parameters as StandardSchemaV1 | undefined
  if (parameters === undefined) {
    throw new ConfigurationError({ subject, problem: "it needs parameters: the Standard Schema of its arguments" })
  }
  return jsonSchemaTool(name, given as never, {
    jsonSchema: sentJsonSchema(subject, parameters, given.jsonSchema),
    schema: schemaFromStandard(subject, parameters, given.timeout),
    unchecked: []
  }) as never
}

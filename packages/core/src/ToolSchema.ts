/** JSON Schemas of tools, for providers and servers that send them. */
import type * as JsonSchema from "effect/JsonSchema"
import type * as LanguageModel from "effect/ai/LanguageModel"
import type * as AiTool from "effect/ai/Tool"
import * as SentSchema from "./internal/foundation/schema/sentSchema.ts"
import * as StandardInputs from "./internal/foundation/schema/standardInputs.ts"
import * as StrictForm from "./internal/foundation/schema/strictForm.ts"

/**
 * Returns the JSON Schema of a tool's parameters that a provider sends: a dynamic tool's own, else that of the JSON
 * form of its schema, by which arguments are decoded. Objects are closed, null represents an absent `Schema.optional`,
 * and numbers are finite. Throws an `Error` for a schema without a JSON form, such as one with symbols as keys.
 *
 * **Example** (null is allowed for an optional field)
 *
 * ```ts
 * import { Schema } from "effect"
 * import { Tool } from "effect/ai"
 * import { ToolSchema } from "@recourse/core"
 *
 * const Find = Tool.make("find", { parameters: Schema.Struct({ name: Schema.optional(Schema.String) }) })
 *
 * ToolSchema.parametersOf(Find)["properties"] // => { name: { anyOf: [{ type: "string" }, { type: "null" }] } }
 * ```
 *
 * @category getters
 * @since 0.2.0
 */
export const parametersOf = (tool: AiTool.Any): JsonSchema.JsonSchema => SentSchema.parametersOf(tool)

/**
 * The strict form of a tool's parameters, in the dialect of a provider.
 *
 * @category models
 * @since 0.2.0
 */
export interface Strict {
  /** The JSON Schema to send: in OpenAI's dialect each field is required, and an optional one may be null. */
  readonly schema: JsonSchema.JsonSchema
  /** Returns arguments in the form of the tool's own schema. Those that do not fit the strict form are returned as they are. */
  readonly read: (args: unknown) => unknown
}

/**
 * Returns the strict form of the parameters of a tool with `Tool.Strict`; `undefined` for another tool, and for a dynamic tool with a JSON
 * Schema of its own. It is made once for a definition and a transformer. Throws an `Error` for parameters without a strict form, such as a union.
 *
 * **Example** (An optional field of a strict tool)
 *
 * ```ts
 * import { Schema } from "effect"
 * import { OpenAiStructuredOutput, Tool } from "effect/ai"
 * import { ToolSchema } from "@recourse/core"
 *
 * const Find = Tool.make("find", { parameters: Schema.Struct({ name: Schema.optionalKey(Schema.String) }) })
 *   .annotate(Tool.Strict, true)
 *
 * const strict = ToolSchema.strictOf(Find, OpenAiStructuredOutput.toCodecOpenAI)
 * strict?.schema["required"] // => ["name"]
 * strict?.read({ name: null }) // => {}
 * ```
 *
 * @category getters
 * @since 0.2.0
 */
export const strictOf = (tool: AiTool.Any, transformer: LanguageModel.CodecTransformer): Strict | undefined =>
  StrictForm.of(tool, transformer)

/**
 * @internal The input that the schema of `Tool.fromStandardSchema` has validated to these arguments of `execute`, for
 * tools that validate once more by the same schema: its transformations would run twice. Other arguments are returned.
 */
export const inputOf = (schema: unknown, args: unknown): unknown => StandardInputs.inputOf(schema, args)

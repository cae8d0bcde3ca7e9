/** JSON Schemas of tools, for providers and servers that send them. */
import type * as JsonSchema from "effect/JsonSchema"
import type * as AiTool from "effect/ai/Tool"
import * as SentSchema from "./internal/foundation/schema/sentSchema.ts"

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

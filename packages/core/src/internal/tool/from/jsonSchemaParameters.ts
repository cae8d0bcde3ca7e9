/** Parameters from a JSON Schema. */
import type * as JsonSchema from "effect/JsonSchema"
import type * as Schema from "effect/Schema"
import { ConfigurationError } from "../../../ConfigurationError.ts"
import {
  type ImportedJsonSchema,
  importJsonSchema,
  type JsonSchemaOptions,
  NotCheckable
} from "../../foundation/schema/jsonSchemaImport.ts"

/**
 * Arguments of a tool that is described by a JSON Schema.
 *
 * @category models
 * @since 0.2.0
 */
export interface JsonObject {
  readonly [key: string]: Schema.Json
}

/**
 * The schema of such arguments.
 *
 * @category models
 * @since 0.2.0
 */
export type JsonParameters = Schema.Codec<JsonObject>

/**
 * Makes an Effect Schema of a JSON Schema, of draft 7 or 2020-12. `subject` names it in errors.
 *
 * Throws `ConfigurationError` for a keyword that cannot be checked and that `unchecked` does not name. `format` is an
 * annotation in the drafts, and is not checked.
 *
 * **Example** (A schema and its unchecked parts)
 *
 * ```ts
 * import { Schema } from "effect"
 * import { Tool } from "@recourse/core"
 *
 * const { schema, unchecked } = Tool.schemaFromJsonSchema("Order", {
 *   type: "object",
 *   properties: { id: { type: "integer" }, code: { type: "string", pattern: "^[A-Z]+$" } },
 *   required: ["id"]
 * })
 *
 * unchecked // => ["/properties/code/pattern"]
 * Schema.is(schema)({ id: 1 }) // => true
 * Schema.is(schema)({ id: "1" }) // => false
 * ```
 *
 * @category constructors
 * @since 0.2.0
 */
export const schemaFromJsonSchema = (
  subject: string,
  document: JsonSchema.JsonSchema,
  options: JsonSchemaOptions = {}
): ImportedJsonSchema => {
  try {
    return importJsonSchema(document, options)
  } catch (error) {
    if (!(error instanceof NotCheckable)) throw error
    const places = error.unchecked.map((place) => place === "" ? "the whole schema" : place).join(", ")
    throw new ConfigurationError({
      subject,
      problem: `its JSON Schema cannot be checked at ${places}: ${error.message}. ` +
        "Name the keywords in `unchecked`, or change the schema"
    })
  }
}

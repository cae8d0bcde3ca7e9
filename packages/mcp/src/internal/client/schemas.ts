/** Checked schemas of a server's tool. */
import type { ConfigurationError } from "@recourse/core/ConfigurationError"
import * as Tool from "@recourse/core/Tool"
import * as Predicate from "effect/Predicate"
import type * as McpSchema from "effect/ai/McpSchema"

/** Returns the schema of structured results, or why a schema of the tool cannot be used. */
export const usableSchemas = (
  name: string,
  { inputSchema, outputSchema }: McpSchema.Tool,
  options: Tool.JsonSchemaOptions
): { readonly output: Tool.ImportedJsonSchema | undefined } | string => {
  if (name === "") return "models cannot call a tool without a name"
  try {
    // A tool whose keywords need not be checked is never refused.
    if (options.unchecked !== "any") Tool.schemaFromJsonSchema("Its input schema", inputSchema, options)
    return { output: outputSchema && Tool.schemaFromJsonSchema("Its output schema", outputSchema, options) }
  } catch (error) {
    if (!Predicate.isTagged(error, "ConfigurationError")) return "its schemas are too deep"
    return (error as ConfigurationError).problem
  }
}

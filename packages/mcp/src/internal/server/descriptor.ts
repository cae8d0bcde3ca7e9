/** A client's description of a tool: its schemas, and its effects by annotations. */
import { parametersOf } from "@recourse/core/ToolSchema"
import type * as Tool from "@recourse/core/Tool"
import * as Context from "effect/Context"
import * as Option from "effect/Option"
import type * as Schema from "effect/Schema"
import * as McpSchema from "effect/ai/McpSchema"
import * as AiTool from "effect/ai/Tool"

/** Converts `effects` to MCP's hints. For a tool without declared effects, MCP's defaults apply: it writes. */
const annotationsOf = ({ definition, effects }: Tool.Any): typeof McpSchema.ToolAnnotations.Type => {
  const title = Option.getOrUndefined(Context.getOption(definition.annotations, AiTool.Title))
  return McpSchema.ToolAnnotations.make({
    ...(title === undefined ? undefined : { title }),
    ...(effects === undefined ? undefined : {
      readOnlyHint: effects === "read",
      idempotentHint: effects !== "write",
      destructiveHint: effects === "write"
    })
  })
}

/**
 * The schema of a tool's structured results, if each success has one: untrusted text is in an envelope, and a pending
 * task has only its id.
 */
const outputSchemaOf = ({ status, success, trust }: Tool.Any): McpSchema.ToolOutputJson | undefined => {
  if (trust === "untrusted" || status !== undefined) return undefined
  const schema = AiTool.getJsonSchemaFromSchema(success as Schema.Constraint)
  return schema.type === "object" ? schema : undefined
}

/** A tool as clients see it. */
export const descriptorOf = (tool: Tool.Any): McpSchema.Tool => {
  const { definition, description, name } = tool
  return new McpSchema.Tool({
    name,
    ...(description === undefined ? undefined : { description }),
    inputSchema: parametersOf(definition) as McpSchema.ToolJson,
    outputSchema: outputSchemaOf(tool),
    annotations: annotationsOf(tool)
  })
}

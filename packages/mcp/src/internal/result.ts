/** Results of MCP tools, for code and for models. */
import type { ImportedJsonSchema } from "@recourse/core/Tool"
import * as McpSchema from "effect/ai/McpSchema"
import * as Prompt from "effect/ai/Prompt"
import * as Schema from "effect/Schema"

/**
 * Result of an MCP server's tool: all blocks unchanged, pictures and resources too.
 *
 * @category models
 * @since 0.2.0
 */
export interface McpResult {
  readonly content: ReadonlyArray<McpSchema.ContentBlock>
  /** Value of the tool's `outputSchema`, if it has one. */
  readonly structuredContent?: unknown
}

/** The schema of a tool's results; those of one with an `outputSchema` have to have a structured content that fits it. */
export const resultSchema = (output: ImportedJsonSchema | undefined): Schema.Codec<McpResult, unknown> => {
  const content = Schema.Array(McpSchema.ContentBlock)
  return (output === undefined
    ? Schema.Struct({ content, structuredContent: Schema.optionalKey(Schema.Json) })
    : Schema.Struct({ content, structuredContent: output.schema })) as never
}

const filePart = (mediaType: string, data: Uint8Array | URL) => Prompt.filePart({ mediaType, data })

const partOf = (block: McpSchema.ContentBlock): Prompt.ToolModelOutputPart => {
  switch (block.type) {
    case "text":
      return Prompt.textPart({ text: block.text })
    case "image":
    case "audio":
      return filePart(block.mimeType, block.data)
    case "resource":
      return "text" in block.resource
        ? Prompt.textPart({ text: block.resource.text })
        : filePart(block.resource.mimeType ?? "application/octet-stream", block.resource.blob)
    case "resource_link": {
      const { description, name, title, uri } = block
      return Prompt.textPart({ text: [`${title ?? name}: ${uri}`, description ?? []].flat().join("\n") })
    }
  }
}

/** The model's parts: the blocks, or the structured content if there are none. */
export const modelOutput = ({ content, structuredContent }: McpResult): ReadonlyArray<Prompt.ToolModelOutputPart> =>
  content.length === 0 && structuredContent !== undefined
    ? [Prompt.textPart({ text: JSON.stringify(structuredContent) })]
    : content.map(partOf)

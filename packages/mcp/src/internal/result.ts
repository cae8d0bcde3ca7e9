/** What MCP tools answer, as code and models are given it. */
import type { ImportedJsonSchema } from "@recourse/core/Tool"
import * as McpSchema from "effect/ai/McpSchema"
import * as Prompt from "effect/ai/Prompt"
import * as Schema from "effect/Schema"

/** What a tool of an MCP server answers: all blocks as they came, pictures and resources too. */
export interface McpResult {
  readonly content: ReadonlyArray<McpSchema.ContentBlock>
  /** What fits the tool's `outputSchema`, if it has one. */
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

/** What the model is given: the blocks, or the structured content where there are none. */
export const modelOutput = ({ content, structuredContent }: McpResult): ReadonlyArray<Prompt.ToolModelOutputPart> =>
  content.length === 0 && structuredContent !== undefined
    ? [Prompt.textPart({ text: JSON.stringify(structuredContent) })]
    : content.map(partOf)

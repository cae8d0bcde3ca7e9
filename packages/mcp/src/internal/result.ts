/** Results of MCP tools, for code and for models. */
import * as JsonText from "@recourse/core/JsonText"
import type { ImportedJsonSchema } from "@recourse/core/Tool"
import * as Equal from "effect/Equal"
import * as Exit from "effect/Exit"
import * as McpSchema from "effect/ai/McpSchema"
import * as Prompt from "effect/ai/Prompt"
import * as Predicate from "effect/Predicate"
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

/** True if a schema requires no field: then a result without a structured content is one without fields. */
const requiresNothing = ({ schema }: ImportedJsonSchema): boolean =>
  Exit.isSuccess(Schema.decodeUnknownExit(schema as Schema.Codec<unknown>)({}))

/** The schema of a tool's results. The structured content has to fit an `outputSchema`, which may require one. */
export const resultSchema = (output: ImportedJsonSchema | undefined): Schema.Codec<McpResult, unknown> => {
  const content = Schema.Array(McpSchema.ContentBlock)
  const structured = output?.schema ?? Schema.Json
  const isOptional = output === undefined || requiresNothing(output)
  return Schema.Struct({
    content,
    structuredContent: isOptional ? Schema.optionalKey(structured) : structured
  }) as never
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

/** The values that blocks have as text or as JSON. */
const valuesOf = (content: McpResult["content"]): ReadonlyArray<unknown> =>
  content.flatMap((block) => block.type === "text" ? [block.text, JsonText.exactAt(block.text, [])] : [])

/**
 * True if a block has the value, or blocks have all its parts. Servers repeat their structured content so for older
 * clients: as its JSON, or each value of it in a block.
 */
const isIn = (blocks: ReadonlyArray<unknown>, value: unknown): boolean => {
  if (blocks.some((one) => Equal.equals(one, value))) return true
  const parts = Predicate.isObjectOrArray(value) ? Object.values(value) : []
  return parts.length > 0 && parts.every((part) => isIn(blocks, part))
}

/** The model's parts: the blocks, and the structured content if no block has it. */
export const modelOutput = ({ content, structuredContent }: McpResult): ReadonlyArray<Prompt.ToolModelOutputPart> => {
  const parts = content.map(partOf)
  return structuredContent === undefined || isIn(valuesOf(content), structuredContent)
    ? parts
    : [...parts, Prompt.textPart({ text: JSON.stringify(structuredContent) })]
}

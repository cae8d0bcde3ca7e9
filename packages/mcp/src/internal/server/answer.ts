/** A client's answer: a model's view of a call's result, and the result itself for programs. */
import type { CallAnswer } from "@recourse/core/Agent"
import type { ToolFailure } from "@recourse/core/ErrorProjection"
import * as McpSchema from "effect/ai/McpSchema"
import type * as Prompt from "effect/ai/Prompt"

type Block = McpSchema.ContentBlock

const text = (value: string): Block => McpSchema.TextContent.make({ text: value })

const textOf = (value: unknown): string => typeof value === "string" ? value : JSON.stringify(value) ?? ""

const file = ({ data, mediaType }: Prompt.FilePart): Block => {
  if (data instanceof URL) {
    return McpSchema.ResourceLink.make({ type: "resource_link", uri: data.href, name: data.href, mimeType: mediaType })
  }
  const bytes = typeof data === "string" ? new TextEncoder().encode(data) : data
  if (mediaType.startsWith("image/")) return McpSchema.ImageContent.make({ data: bytes, mimeType: mediaType })
  if (mediaType.startsWith("audio/")) return McpSchema.AudioContent.make({ data: bytes, mimeType: mediaType })
  return McpSchema.EmbeddedResource.make({
    resource: McpSchema.BlobResourceContents.make({ uri: "data:", blob: bytes, mimeType: mediaType })
  })
}

const content = ({ modelOutput, result }: CallAnswer): ReadonlyArray<Block> =>
  modelOutput === undefined
    ? result === undefined || result === null ? [] : [text(textOf(result))]
    : modelOutput.map((part) => part.type === "text" ? text(part.text) : file(part))

/** A failure as a model would read it. */
export const failed = (failure: ToolFailure): McpSchema.CallToolResult =>
  new McpSchema.CallToolResult({ isError: true, content: [text(JSON.stringify(failure))] })

/** The result of a call. `isStructured`: true if the tool has declared an output schema to clients. */
export const resultOf = (answer: CallAnswer, isStructured: boolean): McpSchema.CallToolResult => {
  const { degraded, isFailure, isInPlaceOfUnknown, structured, untrusted } = answer
  return new McpSchema.CallToolResult({
    ...(isFailure ? { isError: true } : undefined),
    content: content(answer),
    ...(isStructured && structured !== undefined ? { structuredContent: structured } : undefined),
    ...(degraded === undefined && isInPlaceOfUnknown === undefined && untrusted.length === 0 ? undefined : {
      _meta: {
        ...(isInPlaceOfUnknown === true ? { "recourse/outcome_unknown": true } : undefined),
        ...(degraded === undefined ? undefined : { "recourse/degraded": { ...degraded } }),
        ...(untrusted.length === 0 ? undefined : { "recourse/untrusted": [...untrusted] })
      }
    })
  })
}

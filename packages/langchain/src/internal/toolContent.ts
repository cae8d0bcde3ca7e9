/** The parts of a tool's result for LangChain: texts and files. */
import type { ContentBlock } from "@langchain/core/messages"
import * as Base64 from "effect/encoding/Base64"
import type * as Prompt from "effect/ai/Prompt"

/** Returns a part of a result as LangChain takes it. */
export const contentOf = (part: Prompt.ToolModelOutputPart): ContentBlock => {
  if (part.type === "text") return { type: "text", text: part.text }
  const { data, mediaType } = part
  const type = mediaType.startsWith("image/") ? "image" : "file"
  return data instanceof URL
    ? { type, mimeType: mediaType, url: data.href }
    : { type, mimeType: mediaType, data: typeof data === "string" ? data : Base64.encode(data) }
}

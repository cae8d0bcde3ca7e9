/** The parts of a tool's result for OpenAI Agents: texts, images and files. */
import type { ToolOutputFileContent, ToolOutputImage, ToolOutputText } from "@openai/agents"
import * as Base64 from "effect/encoding/Base64"
import type * as Prompt from "effect/ai/Prompt"

/** Returns a part of a result as the Agents SDK takes it. */
export const contentOf = (
  part: Prompt.ToolModelOutputPart
): ToolOutputText | ToolOutputImage | ToolOutputFileContent => {
  if (part.type === "text") return { type: "text", text: part.text }
  const { data, fileName = "file", mediaType } = part
  const source = data instanceof URL
    ? { url: data.href }
    : { data: typeof data === "string" ? data : Base64.encode(data), mediaType }
  return mediaType.startsWith("image/")
    ? { type: "image", image: source }
    : {
      type: "file",
      file: "url" in source ? { url: source.url, filename: fileName } : { ...source, filename: fileName }
    }
}

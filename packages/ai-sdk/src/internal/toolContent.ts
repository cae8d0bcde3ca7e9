/** The parts of a tool's result for the AI SDK: texts and files. */
import type * as Prompt from "effect/ai/Prompt"
import * as Base64 from "effect/encoding/Base64"

/**
 * A part of a result in the AI SDK.
 *
 * @category models
 * @since 0.2.0
 */
export type SdkContent =
  | { type: "text"; text: string }
  | { type: "file"; mediaType: string; data: { type: "data"; data: string } | { type: "url"; url: URL } }

/** Returns a part of a result as the AI SDK takes it. */
export const contentOf = (part: Prompt.ToolModelOutputPart): SdkContent => {
  if (part.type === "text") return { type: "text", text: part.text }
  const { data, mediaType } = part
  return {
    type: "file",
    mediaType,
    data: data instanceof URL
      ? { type: "url", url: data }
      : { type: "data", data: typeof data === "string" ? data : Base64.encode(data) }
  }
}

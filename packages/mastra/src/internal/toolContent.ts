/** The parts of a tool's result for Mastra: texts and media. */
import * as Base64 from "effect/encoding/Base64"
import type * as Prompt from "effect/ai/Prompt"

/** A part of a result in Mastra. */
export type MastraContent =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "media"; readonly mediaType: string; readonly data: string }

/** Returns a part of a result as Mastra takes it. */
export const contentOf = (part: Prompt.ToolModelOutputPart): MastraContent => {
  if (part.type === "text") return { type: "text", text: part.text }
  const { data, mediaType } = part
  return data instanceof URL
    ? { type: "text", text: data.href }
    : { type: "media", mediaType, data: typeof data === "string" ? data : Base64.encode(data) }
}

/**
 * Messages that are nothing but text as JSON, and back, by hand: most messages of a chat are, and a schema takes a hundred times as
 * long. The JSON is the schema's.
 */
import type * as Schema from "effect/Schema"
import * as Prompt from "effect/ai/Prompt"

const isEmpty = (options: unknown): boolean => {
  if (options === undefined) return true
  if (typeof options !== "object" || options === null || Array.isArray(options)) return false
  for (const _ in options) return false
  return true
}

interface Text {
  readonly type: "text"
  readonly text: string
}

/** Whether a part is a text, and nothing is said of it. */
const isPlain = (part: unknown): part is Text => {
  if (typeof part !== "object" || part === null) return false
  const { options, text, type } = part as {
    readonly type?: unknown
    readonly text?: unknown
    readonly options?: unknown
  }
  return type === "text" && typeof text === "string" && isEmpty(options)
}

/** The JSON of a message that is a text; nothing for others. */
export const encodeText = ({ content, options, role }: Prompt.Message): Schema.Json | undefined => {
  if (!isEmpty(options)) return undefined
  if (role === "system") return typeof content === "string" ? { options: {}, role, content } : undefined
  if (role === "tool" || !Array.isArray(content) || !content.every(isPlain)) return undefined
  return content.length === 1
    ? { options: {}, role, content: content[0].text }
    : { options: {}, role, content: content.map(({ text }) => ({ options: {}, type: "text", text })) }
}

const ofText = (text: string): Prompt.TextPart => Prompt.makePart("text", { text })

/** The message that JSON says, where it is a text; nothing of others. */
export const decodeText = (json: unknown): Prompt.Message | undefined => {
  if (typeof json !== "object" || json === null) return undefined
  const { content, options, role } = json as {
    readonly role?: unknown
    readonly content?: unknown
    readonly options?: unknown
  }
  if (!isEmpty(options)) return undefined
  if (role === "system") return typeof content === "string" ? Prompt.makeMessage(role, { content }) : undefined
  if (role !== "user" && role !== "assistant") return undefined
  const parts = typeof content === "string"
    ? [ofText(content)]
    : Array.isArray(content) && content.every(isPlain)
    ? content.map(({ text }) => ofText(text))
    : undefined
  return parts === undefined ? undefined : Prompt.makeMessage(role, { content: parts })
}

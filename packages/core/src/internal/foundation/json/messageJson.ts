/**
 * Messages of texts, calls and results as JSON, and texts back, by hand: most messages are, and a schema takes a hundred times as long.
 * The JSON is the schema's.
 */
import * as Option from "effect/Option"
import type * as Schema from "effect/Schema"
import * as Prompt from "effect/ai/Prompt"
import { toJson } from "./jsonValue.ts"

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

/** True if a part is a text without options. */
const isPlain = (part: unknown): part is Text => {
  if (typeof part !== "object" || part === null) return false
  const { options, text, type } = part as {
    readonly type?: unknown
    readonly text?: unknown
    readonly options?: unknown
  }
  return type === "text" && typeof text === "string" && isEmpty(options)
}

/** Encodes a text, a call or a result without options; `undefined` for other parts. */
const encodePart = (part: Prompt.Part): Schema.Json | undefined => {
  if (!isEmpty(part.options)) return undefined
  switch (part.type) {
    case "text":
      return { options: {}, type: "text", text: part.text }
    case "tool-call": {
      const { id, name, providerExecuted } = part
      const params = Option.getOrUndefined(toJson(part.params))
      return params === undefined ? undefined : { options: {}, type: "tool-call", id, name, params, providerExecuted }
    }
    case "tool-result": {
      const { id, isFailure, modelOutput, name, providerExecuted } = part
      const result = Option.getOrUndefined(toJson(part.result))
      return result === undefined || modelOutput !== undefined
        ? undefined
        : { options: {}, type: "tool-result", id, name, isFailure, result, providerExecuted }
    }
    default:
      return undefined
  }
}

/** Encodes a message of texts, calls and results; `undefined` for others. */
export const encodeMessage = ({ content, options, role }: Prompt.Message): Schema.Json | undefined => {
  if (!isEmpty(options)) return undefined
  if (role === "system") return typeof content === "string" ? { options: {}, role, content } : undefined
  if (!Array.isArray(content)) return undefined
  const parts: ReadonlyArray<Prompt.Part> = content
  if (role !== "tool" && parts.length === 1 && isPlain(parts[0])) return { options: {}, role, content: parts[0].text }
  const encoded: Array<Schema.Json> = []
  for (const part of parts) {
    const json = encodePart(part)
    if (json === undefined) return undefined
    encoded.push(json)
  }
  return { options: {}, role, content: encoded }
}

const ofText = (text: string): Prompt.TextPart => Prompt.makePart("text", { text })

/** Decodes the JSON of a text message; `undefined` for others. */
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

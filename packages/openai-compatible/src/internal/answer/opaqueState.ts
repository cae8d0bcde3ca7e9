/**
 * Opaque state of a provider: fields of calls and messages that the protocol does not know, such as the signature of a thought.
 *
 * They are kept in the options of a part, under {@link key}, with the server that sent them. They are returned unchanged to that server
 * and to no other one.
 */
import type * as Prompt from "effect/ai/Prompt"
import type * as Response from "effect/ai/Response"
import type * as Schema from "effect/Schema"
import { ownField } from "./ownField.ts"
import type * as Wire from "./wire.ts"

/** The key of part options and part metadata. */
const key = "chatCompletions"

export type Fields = Readonly<Record<string, Schema.Json>>

/** Unknown fields of a call, and of the function in it; its id, if another server might refuse it. */
export interface CallFields {
  readonly id?: string
  readonly call?: Fields
  readonly function?: Fields
}

/** Unknown fields of a message, its content if it is more than text, and the field that holds its reasoning. */
export interface MessageFields {
  readonly message?: Fields
  readonly content?: ReadonlyArray<Schema.Json>
  readonly reasoning?: "reasoning_content" | "reasoning"
}

const inCall: ReadonlySet<string> = new Set(["index", "id", "type", "function", "__proto__"])
const inFunction: ReadonlySet<string> = new Set(["name", "arguments", "__proto__"])
const inMessage: ReadonlySet<string> = new Set([
  "role",
  "content",
  "tool_calls",
  "function_call",
  "refusal",
  "annotations",
  "reasoning_content",
  "reasoning",
  "usage",
  "__proto__"
])

const unknown = (value: unknown, known: ReadonlySet<string>): Fields | undefined => {
  if (typeof value !== "object" || value === null) return undefined
  let fields: Record<string, Schema.Json> | undefined
  for (const name of Object.keys(value)) {
    const field = (value as Fields)[name]
    if (field !== null && field !== undefined && !known.has(name)) (fields ??= {})[name] = field
  }
  return fields
}

const inPart: ReadonlySet<string> = new Set(["type", "text", "thinking", "reasoning"])

const isPlainPart = (part: Schema.Json): boolean =>
  !isObject(part) || Object.keys(part).every((name) => inPart.has(name))

/** True for an id of a call that every server accepts. */
export const isPortableId = (id: string): boolean => /^[A-Za-z0-9_-]{1,40}$/.test(id)

/** The unknown fields of a call, or of a piece of it. */
export const callFields = (call: Wire.ToolCall): CallFields => {
  const own = unknown(call, inCall)
  const ofFunction = unknown(call.function, inFunction)
  const id = typeof call.id === "string" && call.id !== "" && !isPortableId(call.id) ? call.id : undefined
  return {
    ...(id === undefined ? undefined : { id }),
    ...(own === undefined ? undefined : { call: own }),
    ...(ofFunction === undefined ? undefined : { function: ofFunction })
  }
}

/** The fields of messages that are not returned, by the list of a server's quirks. */
const known = new WeakMap<ReadonlyArray<string>, ReadonlySet<string>>()

const knownInMessage = (unreturned: ReadonlyArray<string>): ReadonlySet<string> => {
  const found = known.get(unreturned)
  if (found !== undefined) return found
  const names = new Set([...inMessage, ...unreturned])
  known.set(unreturned, names)
  return names
}

/**
 * The unknown fields of a message, or of a piece of it, without those that servers do not take back. `isList`: the content is kept as a
 * list, because an earlier piece of it was more than text.
 */
export const messageFields = (
  message: Wire.Message,
  unreturned: ReadonlyArray<string>,
  isList = false
): MessageFields => {
  const fields = unknown(message, knownInMessage(unreturned))
  const content = isList && typeof message.content === "string" && message.content !== ""
    ? [{ type: "text", text: message.content }]
    : message.content
  const isText = (value: unknown) => typeof value === "string" && value !== ""
  const reasoning = isText(message.reasoning_content)
    ? "reasoning_content"
    : isText(message.reasoning)
    ? "reasoning"
    : undefined
  return {
    ...(fields === undefined ? undefined : { message: fields }),
    ...(Array.isArray(content)
      ? { content: content as unknown as ReadonlyArray<Schema.Json> }
      : undefined),
    ...(reasoning === undefined ? undefined : { reasoning })
  }
}

/**
 * The stored fields of a whole message. Its reasoning is returned only with calls, its content if a part of it has
 * unknown fields.
 */
export const settled = ({ content, message, reasoning }: MessageFields, hasCalls: boolean): MessageFields => ({
  ...(message === undefined ? undefined : { message }),
  ...(content === undefined || content.every(isPlainPart) ? undefined : { content }),
  ...(reasoning === undefined || !hasCalls ? undefined : { reasoning })
})

/** Texts that a stream sends in pieces; any other text is whole, and the last one counts. */
const growing: ReadonlySet<string> = new Set(["text", "summary", "thinking", "reasoning_text", "content"])

const isObject = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** True if two entries of a list are pieces of one: the same type and index, and the earlier one is not signed yet. */
const continues = (last: Schema.Json | undefined, next: Schema.Json): boolean =>
  isObject(last) && isObject(next) && last["type"] === next["type"] && last["index"] === next["index"] &&
  !last["signature"] && [...growing].some((name) => typeof last[name] === "string" || Array.isArray(last[name]))

const mergeLists = (a: ReadonlyArray<Schema.Json>, b: ReadonlyArray<Schema.Json>): ReadonlyArray<Schema.Json> => {
  const out = [...a]
  for (const next of b) {
    const last = out.at(-1)
    if (continues(last, next)) out[out.length - 1] = merge(last as Fields, next as Fields)
    else out.push(next)
  }
  return out
}

const mergeValues = (name: string, a: Schema.Json | undefined, b: Schema.Json): Schema.Json => {
  if (a === undefined || a === null) return b
  if (b === null) return a
  if (typeof a === "string" && typeof b === "string") return growing.has(name) ? a + b : b === "" ? a : b
  if (Array.isArray(a) && Array.isArray(b)) return mergeLists(a, b)
  return isObject(a) && isObject(b) ? merge(a, b) : b
}

const merge = (a: Fields, b: Fields): Fields =>
  Object.fromEntries([
    ...Object.entries(a),
    ...Object.entries(b).map((
      [name, value]
    ) => [name, mergeValues(name, Object.hasOwn(a, name) ? a[name] : undefined, value)])
  ]) as Fields

/** The fields of a call after a further piece of it. */
export const mergeCall = (a: CallFields, b: CallFields): CallFields =>
  b.call === undefined && b.function === undefined && b.id === undefined
    ? a
    : merge(a as Fields, b as Fields) as CallFields

/** The fields of a message after a further piece of it. */
export const mergeMessage = (a: MessageFields, b: MessageFields): MessageFields =>
  b.message === undefined && b.content === undefined && b.reasoning === undefined
    ? a
    : merge(a as Fields, b as Fields) as MessageFields

/** Metadata of a part that carries the fields of a server; none for no fields. */
export const metadata = (
  server: string,
  fields: CallFields & MessageFields
): { readonly metadata?: Response.ProviderMetadata } =>
  Object.keys(fields).length === 0 ? {} : { metadata: { [key]: { server, ...fields } as never } }

/** The fields in the options of a part, if this server sent them. */
export const fieldsOf = (options: Prompt.ProviderOptions, server: string): CallFields & MessageFields | undefined => {
  const state = ownField(options, key)
  return ownField(state, "server") === server ? state as CallFields & MessageFields : undefined
}

/** The text of a content that is a list. */
export const textOf = (content: ReadonlyArray<unknown>): string =>
  content.map((part) => {
    const type = ownField(part, "type")
    const text = ownField(part, "text")
    return type === "thinking" || type === "reasoning" || typeof text !== "string" ? "" : text
  }).join("")

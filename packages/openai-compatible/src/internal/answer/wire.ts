/**
 * The chat completions protocol of real servers: strict if a wrong shape means another protocol, open everywhere else.
 */
import * as Schema from "effect/Schema"
import { ownField } from "./ownField.ts"

const Text = Schema.optional(Schema.NullOr(Schema.String))
const Anything = Schema.optional(Schema.Unknown)

/** Fields that are not named here may be state of the server, see `opaqueState.ts`. */
const open = <const Fields extends Schema.Struct.Fields>(fields: Fields) =>
  Schema.StructWithRest(Schema.Struct(fields), [Schema.Record(Schema.String, Schema.Unknown)])

const FunctionCall = open({ name: Text, arguments: Anything })

/** Spellings of an absent list or object in languages without types. */
const Absent = Schema.Literals(["", false])

const Index = Schema.optional(Schema.NullOr(Schema.Union([Schema.Number, Schema.String])))

export const ToolCall = open({
  index: Index,
  id: Schema.optional(Schema.NullOr(Schema.Union([Schema.String, Schema.Number]))),
  function: Schema.optional(Schema.NullOr(FunctionCall))
})
export type ToolCall = typeof ToolCall.Type

const Part = Schema.Record(Schema.String, Schema.Unknown)

/** A message of an answer, or a part of it in a stream. */
export const Message = open({
  content: Schema.optional(Schema.NullOr(
    Schema.Union([Schema.String, Schema.Array(Schema.NullOr(Schema.Union([Schema.String, Part]))), Part])
  )),
  reasoning_content: Anything,
  reasoning: Anything,
  refusal: Anything,
  tool_calls: Schema.optional(Schema.NullOr(
    Schema.Union([Schema.Array(Schema.NullOr(ToolCall)), ToolCall, Absent])
  )),
  function_call: Schema.optional(Schema.NullOr(Schema.Union([FunctionCall, Schema.Tuple([]), Absent]))),
  annotations: Anything,
  images: Anything
})
export type Message = typeof Message.Type

const head = {
  id: Anything,
  model: Anything,
  created: Anything,
  usage: Anything,
  x_groq: Anything,
  citations: Anything,
  search_results: Anything
}
const choiceHead = { index: Index, finish_reason: Anything, usage: Anything }

export const Completion = Schema.Struct({
  ...head,
  choices: Schema.NullOr(
    Schema.Array(Schema.Struct({
      ...choiceHead,
      message: Schema.optional(Schema.NullOr(Message)),
      /** The message of a gateway that sends one piece of a stream as its answer. */
      delta: Schema.optional(Schema.NullOr(Message))
    }))
  )
})
export type Completion = typeof Completion.Type

export const Chunk = Schema.Struct({
  ...head,
  choices: Schema.NullOr(Schema.Array(Schema.Struct({
    ...choiceHead,
    delta: Schema.optional(Schema.NullOr(Message)),
    /** The whole message: in place of a delta, or behind the deltas. */
    message: Schema.optional(Schema.NullOr(Message))
  })))
})
export type Chunk = typeof Chunk.Type

const isBlank = (value: unknown): boolean => value === undefined || value === null || value === ""

/**
 * True for a call without id, name, arguments and unknown fields. Servers write every field of a message in each piece,
 * also in an answer without calls.
 */
const isPlaceholder = ({ function: called, id, index: _, type: __, ...others }: ToolCall): boolean => {
  const { arguments: args, name, ...unknown } = called ?? {}
  return [id, name, args].every(isBlank) && Object.keys(others).length + Object.keys(unknown).length === 0
}

/**
 * The calls of a message, without the older `function_call`. A server may send one call without a list. `tools` are the names of the offered
 * tools.
 */
export const listedCalls = ({ tool_calls: calls }: Message, tools: ReadonlyArray<string>): ReadonlyArray<ToolCall> => {
  if (!calls) return []
  const listed = (Array.isArray(calls) ? calls : [calls]) as ReadonlyArray<ToolCall | null>
  return listed.filter((call) => call !== null && !isPlaceholder(call)).map((call) => named(call!, tools))
}

/** The older `function_call` of a message as a call. */
export const olderCall = (
  { function_call: called }: Message,
  tools: ReadonlyArray<string>
): ToolCall | undefined => {
  if (!called || Array.isArray(called)) return undefined
  const call: ToolCall = { function: called as NonNullable<ToolCall["function"]> }
  return isPlaceholder(call) ? undefined : named(call, tools)
}

/** All calls of a message, with the older `function_call` among them. */
export const toolCalls = (message: Message, tools: ReadonlyArray<string>): ReadonlyArray<ToolCall> => {
  const older = olderCall(message, tools)
  const listed = listedCalls(message, tools)
  return older === undefined ? listed : [...listed, older]
}

const unset: ReadonlySet<string> = new Set(["", "null", "none"])

/** The reason of an end, if one is given. Some servers write `"null"` in each piece. A value that is no text is an unknown reason. */
export const finishReason = (reason: unknown): string | undefined => {
  if (reason === undefined || reason === null || reason === false) return undefined
  if (typeof reason !== "string") return typeof reason
  return unset.has(reason.trim().toLowerCase()) ? undefined : reason
}

/** The call with its function, also if the server writes the fields of it in the call. */
const nested = (call: ToolCall): ToolCall => {
  if (call.function || typeof call["name"] !== "string") return call
  const { arguments: args, name, ...rest } = call
  return { ...rest, function: { name, arguments: args } }
}

/** Namespaces in which models are shown the tools of a request. */
const namespace = /^(?:functions|default_api|tools)[.:]/

/** The name without its namespace, if it is an offered tool's and the whole name is none. */
const withoutNamespace = (name: string, tools: ReadonlyArray<string>): string => {
  const plain = name.replace(namespace, "")
  return tools.includes(plain) && !tools.includes(name) ? plain : name
}

/**
 * The call in the usual form, with the name of its tool alone: parsers leave the model's control tokens and blanks behind
 * it, and the namespace of the tools before it. Some gateways write `"null"` as the name in later pieces of a call.
 */
export const named = (given: ToolCall, tools: ReadonlyArray<string>): ToolCall => {
  const call = nested(given)
  const name = call.function?.name
  if (!name) return call
  if (unset.has(name.trim().toLowerCase()) && !tools.includes(name)) {
    return { ...call, function: { ...call.function, name: undefined } }
  }
  const plain = withoutNamespace(name.replace(/<\|[\s\S]*$/, "").trim(), tools)
  return plain === name || plain === "" ? call : { ...call, function: { ...call.function, name: plain } }
}

/** The id that the server gave a call, if it gave one. */
export const callId = ({ id }: ToolCall): string | undefined =>
  id === undefined || id === null || id === "" ? undefined : String(id)

/** An index, also if a server writes it as text. */
export const index = (value: number | string | null | undefined): number | undefined =>
  typeof value === "string" ? /^\d{1,9}$/.test(value.trim()) ? Number(value) : undefined : value ?? undefined

export interface Piece {
  readonly kind: "text" | "reasoning"
  readonly text: string
}

/** The reasoning and the text of a message in the order in which they are read, empty ones left out. */
export const pieces = (message: Message): ReadonlyArray<Piece> => {
  const out: Array<Piece> = []
  const push = (kind: Piece["kind"], text: unknown) => {
    if (typeof text === "string" && text !== "") out.push({ kind, text })
  }
  for (const text of reasoningOf(message)) push("reasoning", text)
  for (const part of partsOf(message)) {
    if (typeof part === "string") push("text", part)
    else if (part.type === "thinking" || part.type === "reasoning") {
      for (const text of texts(part.thinking ?? part.text)) push("reasoning", text)
    } else push("text", typeof part.text === "string" ? part.text : ownField(part.text, "value"))
  }
  push("text", refusalOf(message))
  return out
}

/** The addresses of the pictures of a message: next to its content, or among the parts of it. */
export const pictures = (message: Message): ReadonlyArray<unknown> => {
  const listed: ReadonlyArray<unknown> = Array.isArray(message.images) ? message.images : []
  return [...listed, ...objectsOf(message)].map((part) => ownField(part, "image_url"))
    .filter((image) => image !== undefined)
    .map((image) => typeof image === "string" ? image : ownField(image, "url"))
}

const texts = (value: unknown): ReadonlyArray<unknown> =>
  Array.isArray(value) ? value.map((part) => ownField(part, "text")) : [value]

/** The parts of a content: servers write a text, a part, or a list of both. */
const partsOf = ({ content }: Message): ReadonlyArray<string | typeof Part.Type> => {
  if (content === undefined || content === null) return []
  return Array.isArray(content)
    ? (content as ReadonlyArray<string | typeof Part.Type | null>).filter((part) => part !== null)
    : [content as string]
}

/** The parts of a content that may have fields. */
const objectsOf = (message: Message): ReadonlyArray<unknown> =>
  typeof message.content === "object" ? partsOf(message) : []

/** The text of a refusal, in the field of the message or in a part of its content. */
export const refusalOf = (message: Message): string | undefined => {
  const refusals = [message.refusal, ...objectsOf(message).map((part) => ownField(part, "refusal"))]
    .filter((text) => typeof text === "string")
  return refusals.join("") || undefined
}

/** Names of the field of reasoning. Servers that have two write the same text in both. */
const reasoningNames = ["reasoning_content", "reasoning", "reasoning_text", "thinking"] as const

const reasoningOf = (message: Message): ReadonlyArray<unknown> => {
  for (const name of reasoningNames) {
    const value = message[name]
    const text = typeof value === "string" ? value : ownField(value, "content") ?? ownField(value, "text")
    if (typeof text === "string" && text !== "") return [text]
  }
  const details = message["reasoning_details"]
  return Array.isArray(details)
    ? details.map((detail) => ownField(detail, "text") ?? ownField(detail, "summary"))
    : []
}

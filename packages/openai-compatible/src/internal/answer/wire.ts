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

const Index = Schema.optional(Schema.NullOr(Schema.Union([Schema.Number, Schema.String])))

export const ToolCall = open({
  index: Index,
  id: Schema.optional(Schema.NullOr(Schema.Union([Schema.String, Schema.Number]))),
  function: Schema.optional(Schema.NullOr(FunctionCall))
})
export type ToolCall = typeof ToolCall.Type

/** A message of an answer, or a part of it in a stream. */
export const Message = open({
  content: Schema.optional(
    Schema.NullOr(Schema.Union([Schema.String, Schema.Array(Schema.Record(Schema.String, Schema.Unknown))]))
  ),
  reasoning_content: Anything,
  reasoning: Anything,
  refusal: Text,
  tool_calls: Schema.optional(Schema.NullOr(Schema.Array(ToolCall))),
  function_call: Schema.optional(Schema.NullOr(FunctionCall)),
  annotations: Anything
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
const choiceHead = { index: Index, finish_reason: Text, usage: Anything }

export const Completion = Schema.Struct({
  ...head,
  choices: Schema.NonEmptyArray(Schema.Struct({ ...choiceHead, message: Message }))
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

/** All calls of a message, with the older `function_call` among them. */
export const toolCalls = (message: Message): ReadonlyArray<ToolCall> =>
  [
    ...(message.tool_calls ?? []),
    ...(message.function_call ? [{ function: message.function_call }] : [])
  ].map(named)

/** The call with its function, also if the server writes the fields of it in the call. */
const nested = (call: ToolCall): ToolCall => {
  if (call.function || typeof call["name"] !== "string") return call
  const { arguments: args, name, ...rest } = call
  return { ...rest, function: { name, arguments: args } }
}

/**
 * The call in the usual form, with the name of its tool alone: parsers leave the model's control tokens and blanks behind
 * it.
 */
export const named = (given: ToolCall): ToolCall => {
  const call = nested(given)
  const name = call.function?.name
  if (!name) return call
  const plain = name.replace(/<\|[\s\S]*$/, "").trim()
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
  if (typeof message.reasoning_content === "string") push("reasoning", message.reasoning_content)
  else push("reasoning", message.reasoning)
  if (typeof message.content === "string") push("text", message.content)
  else {
    for (const part of message.content ?? []) {
      if (part.type === "thinking" || part.type === "reasoning") {
        for (const text of texts(part.thinking ?? part.text)) push("reasoning", text)
      } else push("text", part.text)
    }
  }
  push("text", message.refusal)
  return out
}

const texts = (value: unknown): ReadonlyArray<unknown> =>
  Array.isArray(value) ? value.map((part) => ownField(part, "text")) : [value]

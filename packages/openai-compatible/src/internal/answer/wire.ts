/** The chat completions protocol as servers really speak it: strict where a wrong shape means another protocol, open everywhere else. */
import * as Schema from "effect/Schema"
import { ownField } from "./ownField.ts"

const Text = Schema.optional(Schema.NullOr(Schema.String))
const Anything = Schema.optional(Schema.Unknown)

const FunctionCall = Schema.Struct({ name: Text, arguments: Anything })

export const ToolCall = Schema.Struct({
  index: Schema.optional(Schema.NullOr(Schema.Number)),
  id: Schema.optional(Schema.NullOr(Schema.Union([Schema.String, Schema.Number]))),
  function: Schema.optional(Schema.NullOr(FunctionCall))
})
export type ToolCall = typeof ToolCall.Type

/** A message of an answer, or a part of it in a stream. */
export const Message = Schema.Struct({
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
  citations: Anything,
  search_results: Anything
}
const choiceHead = { index: Schema.optional(Schema.NullOr(Schema.Number)), finish_reason: Text }

export const Completion = Schema.Struct({
  ...head,
  choices: Schema.NonEmptyArray(Schema.Struct({ ...choiceHead, message: Message }))
})
export type Completion = typeof Completion.Type

export const Chunk = Schema.Struct({
  ...head,
  choices: Schema.Array(Schema.Struct({ ...choiceHead, delta: Schema.optional(Schema.NullOr(Message)) }))
})
export type Chunk = typeof Chunk.Type

/** All calls of a message, with the older `function_call` among them. */
export const toolCalls = (message: Message): ReadonlyArray<ToolCall> => [
  ...(message.tool_calls ?? []),
  ...(message.function_call ? [{ index: 0, function: message.function_call }] : [])
]

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

/** Conversations as JSON, and back. */
import * as Prompt from "effect/ai/Prompt"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { atFirstUse } from "../lazyValue.ts"
import { toJson } from "./jsonValue.ts"
import { decodeText, encodeMessage } from "./messageJson.ts"

const codec = atFirstUse(() => {
  const PromptJson = Schema.toCodecJson(Prompt.Prompt)
  return {
    encode: Schema.encodeResult(PromptJson),
    encodeSync: Schema.encodeSync(PromptJson),
    decode: Schema.decodeUnknownSync(PromptJson)
  }
})

/**
 * Reduces a program's value to its JSON text; a bigint to its digits; `undefined` for a value that cannot be written.
 */
const lossy = (value: unknown): unknown =>
  Option.getOrElse(toJson(value), () => {
    try {
      return JSON.parse(
        JSON.stringify(value, (_, item: unknown) => typeof item === "bigint" ? String(item) : item) ?? "null"
      ) as unknown
    } catch {
      return null
    }
  })

const withJson = (part: Prompt.Part): Prompt.Part => ({
  ...part,
  options: lossy(part.options) as typeof part.options,
  ...("params" in part ? { params: lossy(part.params) } : undefined),
  ...("result" in part ? { result: lossy(part.result) } : undefined)
} as Prompt.Part)

/** The conversation with JSON for every value without a schema. */
const asJson = (prompt: Prompt.Prompt): Prompt.Prompt =>
  Prompt.fromMessages(prompt.content.map((message) =>
    ({
      ...message,
      options: lossy(message.options),
      content: typeof message.content === "string" ? message.content : message.content.map(withJson)
    }) as Prompt.Message
  ))

const encodeAny = (prompt: Prompt.Prompt): EncodedPrompt =>
  Result.getOrElse(codec().encode(prompt), () => codec().encodeSync(asJson(prompt))) as unknown as EncodedPrompt

interface EncodedPrompt {
  readonly content: ReadonlyArray<Schema.Json>
}

/**
 * Encodes a conversation as JSON. A program's history may contain values that JSON cannot represent: they are reduced.
 */
export const encodePrompt = (prompt: Prompt.Prompt): Schema.Json => ({
  content: prompt.content.map((message) =>
    encodeMessage(message) ?? encodeAny(Prompt.fromMessages([message])).content[0]!
  )
})

/** Decodes a conversation. Throws for invalid JSON: only signed values are decoded. */
export const decodePrompt = (json: unknown): Prompt.Prompt => {
  if (typeof json !== "object" || json === null || !Object.hasOwn(json, "content")) return codec().decode(json)
  const { content } = json as { readonly content: unknown }
  if (!Array.isArray(content)) return codec().decode(json)
  return Prompt.fromMessages(
    content.flatMap((message) => decodeText(message) ?? codec().decode({ content: [message] }).content)
  )
}

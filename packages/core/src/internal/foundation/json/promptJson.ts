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

/** What JSON text keeps of a value that a program brought; a bigint as its digits, nothing of what cannot be written. */
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

/** The conversation where every value that has no schema is JSON. */
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

/** The JSON of a conversation. What a program brought as its history may hold values that JSON cannot: it keeps what it can. */
export const encodePrompt = (prompt: Prompt.Prompt): Schema.Json => ({
  content: prompt.content.map((message) =>
    encodeMessage(message) ?? encodeAny(Prompt.fromMessages([message])).content[0]!
  )
})

/** The conversation that its JSON says. Throws for JSON that says none: only what was signed is read. */
export const decodePrompt = (json: unknown): Prompt.Prompt => {
  if (typeof json !== "object" || json === null || !Object.hasOwn(json, "content")) return codec().decode(json)
  const { content } = json as { readonly content: unknown }
  if (!Array.isArray(content)) return codec().decode(json)
  return Prompt.fromMessages(
    content.flatMap((message) => decodeText(message) ?? codec().decode({ content: [message] }).content)
  )
}

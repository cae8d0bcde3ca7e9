/** Conversations as JSON for programs: the input of an agent of `Runs` that reads a conversation. */
import * as Option from "effect/Option"
import type * as Schema from "effect/Schema"
import type * as Prompt from "effect/ai/Prompt"
import { decodePrompt, encodePrompt } from "../foundation/json/promptJson.ts"

/**
 * Encodes a conversation as JSON, which {@link decode} and the schema `Prompt.Prompt` decode. `Runs` start an agent
 * that reads a conversation with this `input`. Values of a program that JSON cannot represent are reduced to their JSON
 * text.
 *
 * **Example** (There and back)
 *
 * ```ts
 * import { Option } from "effect"
 * import { Prompt } from "effect/ai"
 * import { Conversation } from "@recourse/core"
 *
 * const json = Conversation.encode(Prompt.make("Hello"))
 * json // => { content: [{ role: "user", content: "Hello", options: {} }] }
 * Option.getOrThrow(Conversation.decode(json)).content.length // => 1
 * ```
 *
 * @category encoding
 * @since 0.2.0
 */
export const encode = (prompt: Prompt.Prompt): Schema.Json => encodePrompt(prompt)

/**
 * Decodes a conversation; `None` if the JSON is none.
 *
 * @category decoding
 * @since 0.2.0
 */
export const decode = (json: unknown): Option.Option<Prompt.Prompt> => {
  try {
    return Option.some(decodePrompt(json))
  } catch {
    return Option.none()
  }
}

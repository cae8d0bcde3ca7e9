/** Conversations as JSON for programs: what an agent that reads a conversation is started with by `Runs`. */
import * as Option from "effect/Option"
import type * as Schema from "effect/Schema"
import type * as Prompt from "effect/ai/Prompt"
import { decodePrompt, encodePrompt } from "../foundation/json/promptJson.ts"

/**
 * The JSON of a conversation, which {@link decode} and the schema `Prompt.Prompt` read. It is the `input` with which `Runs` start an
 * agent that reads a conversation. Of values that a program brought and that JSON cannot hold, it has what JSON text keeps.
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
 */
export const encode = (prompt: Prompt.Prompt): Schema.Json => encodePrompt(prompt)

/** The conversation that JSON says; nothing where it says none. */
export const decode = (json: unknown): Option.Option<Prompt.Prompt> => {
  try {
    return Option.some(decodePrompt(json))
  } catch {
    return Option.none()
  }
}

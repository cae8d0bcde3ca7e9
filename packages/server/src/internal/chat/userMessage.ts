/** A user's message of a request. A page sends an empty text next to files, and models' servers refuse one. */
import * as Effect from "effect/Effect"
import * as Prompt from "effect/ai/Prompt"
import { BadRequest } from "../http/errors.ts"

const isRead = (part: Prompt.UserMessagePart): boolean => part.type !== "text" || part.text.trim() !== ""

/** True for parts that a model does not read. */
export const isBlank = (parts: ReadonlyArray<Prompt.UserMessagePart>): boolean => !parts.some(isRead)

/** Makes the message without blank texts. Fails with `BadRequest` if no content is left; `param` is its path. */
export const userMessage = (
  parts: ReadonlyArray<Prompt.UserMessagePart>,
  param: string
): Effect.Effect<Prompt.UserMessage, BadRequest> => {
  const content = parts.filter(isRead)
  return content.length === 0
    ? Effect.fail(new BadRequest({ problem: `${param}: the message is empty`, param }))
    : Effect.succeed(Prompt.makeMessage("user", { content }))
}

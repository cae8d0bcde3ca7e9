/**
 * Request context: additions of a page to the user's message. The model reads them behind the message, as untrusted
 * data.
 */
import * as Prompt from "effect/ai/Prompt"
import { marked, notice } from "../../Quarantine.ts"
import { hasRequestContext, markIn, requestContextKey as key } from "../run/transcript.ts"

/**
 * An entry of a page's context.
 *
 * @category models
 * @since 0.2.0
 */
export interface RequestContext {
  readonly description: string
  readonly value: string
}

/** The source by which a run is tainted that reads it. */
export const requestContextSource = "context of the page"

/** Options of a message with an own field among those of this library. */
export const withMark = (options: Prompt.ProviderOptions, name: string, value: unknown): Prompt.ProviderOptions => ({
  ...options,
  recourse: { ...options["recourse"] as object | undefined, [name]: value } as never
})

/**
 * Returns a message of the user with the page's context. It is not a part of the text: people and titles do not see it.
 *
 * @category combinators
 * @since 0.2.0
 */
export const addRequestContext = (
  message: Prompt.UserMessage,
  entries: ReadonlyArray<RequestContext>
): Prompt.UserMessage =>
  entries.length === 0 ? message : Prompt.makeMessage("user", {
    content: message.content,
    options: marked(withMark(message.options, key, entries), [requestContextSource]) as never
  })

/**
 * True if a page has added context to a message.
 *
 * @category predicates
 * @since 0.2.0
 */
export const isAdded = (message: Prompt.Message): boolean =>
  [key, "requestTools"].some((name) => markIn(message, name) !== undefined)

const read = (message: Prompt.Message): Prompt.Message => {
  const entries = message.role === "user" ? markIn(message, key) : undefined
  if (entries === undefined || message.role !== "user") return message
  const text = `${notice} It is from the page that the user has open: ${JSON.stringify(entries)}`
  return Prompt.makeMessage("user", {
    content: [...message.content, Prompt.makePart("text", { text })],
    options: message.options as never
  })
}

/** Returns the model's prompt of a conversation with pages' context: it is behind the messages of the user. */
export const withRequestContexts = (prompt: Prompt.Prompt): Prompt.Prompt =>
  hasRequestContext(prompt) ? Prompt.fromMessages(prompt.content.map(read)) : prompt

/** Model requests as text that can be compared between runs. */
import { Predicate } from "effect"
import { textOf } from "../text/text.ts"

const messagesOf = (prompt: unknown): unknown =>
  Predicate.hasProperty(prompt, "content") && Array.isArray(prompt.content)
    ? prompt.content.map(({ content, role }: { readonly role: string; readonly content: unknown }) => ({
      role,
      content
    }))
    : prompt

/** What is the run's own in a text: its id. */
export const neutral = (text: string): string => text.replaceAll(/run_[0-9a-z-]{1,36}/g, "run")

/** The messages of a request. */
export const requestText = (prompt: unknown): string => neutral(textOf(messagesOf(prompt)))

/** The last message of a request: what is new in it. */
export const lastMessage = (request: string): unknown => {
  const messages: unknown = JSON.parse(request)
  return Array.isArray(messages) ? messages.at(-1) : messages
}

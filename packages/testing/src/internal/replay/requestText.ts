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

/** A text without the run's own id. */
export const neutral = (text: string): string => text.replaceAll(/run_[0-9a-z-]{1,36}/g, "run")

/** The messages of a request. */
export const requestText = (prompt: unknown): string => neutral(textOf(messagesOf(prompt)))

const placeholder = /(\[redacted: [^\]]*\])/

const unnumbered = (text: string): string => text.replace(/ \d+\]$/, "]")

/** True if two texts are the same. A redaction of a run's own redactor has no number: it equals a numbered one. */
export const isSame = (a: string, b: string): boolean => {
  if (a === b) return true
  if (!a.includes("[redacted: ") || !b.includes("[redacted: ")) return false
  const [before, after] = [a.split(placeholder), b.split(placeholder)]
  return before.length === after.length && before.every((text, index) => {
    const other = after[index]!
    return text === other ||
      (index % 2 === 1 && (unnumbered(text) === other || text === unnumbered(other)))
  })
}

/** The last message of a request: its new part. */
export const lastMessage = (request: string): unknown => {
  const messages: unknown = JSON.parse(request)
  return Array.isArray(messages) ? messages.at(-1) : messages
}

/**
 * Regeneration: the last message of a user is answered again. The model reads the calls of the answer before and their results, because they
 * have happened, and not its text.
 */
import * as Prompt from "effect/ai/Prompt"
import type { Event } from "./thread.ts"
import { encodeMessages } from "./threadView.ts"

/** A message of an answer without its text; none if it has no call. */
const withoutText = (message: Prompt.Message): ReadonlyArray<Prompt.Message> => {
  if (message.role === "tool") return [message]
  if (message.role !== "assistant" || !message.content.some(({ type }) => type === "tool-call")) return []
  return [Prompt.assistantMessage({
    content: message.content.filter(({ type }) => type !== "text"),
    options: message.options
  })]
}

/** Entry that is appended to a thread of a version before its last message is answered again. */
export const regeneration = (prompt: Prompt.Prompt, version: number): Event => {
  const last = prompt.content.findLastIndex(({ role }) => role === "user")
  const answer = prompt.content.slice(last + 1).flatMap(withoutText)
  return {
    _tag: "HistoryCompacted",
    through: version,
    by: encodeMessages([...prompt.content.slice(0, last + 1), ...answer])
  }
}

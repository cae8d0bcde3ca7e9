/** Replaced history: the next turns read the input guard's replacement of a thread, and no call is lost by that. */
import type * as Prompt from "effect/ai/Prompt"
import { texts } from "../history/continuation.ts"

type Messages = ReadonlyArray<Prompt.Message>
type Half = Prompt.ToolCallPart | Prompt.ToolResultPart

/** Returns the calls and the results of a message, without its other parts. */
const halvesIn = ({ content }: Prompt.Message): ReadonlyArray<Half> =>
  typeof content === "string"
    ? []
    : content.filter((part): part is Half => part.type === "tool-call" || part.type === "tool-result")

const nameOf = ({ id, type }: Half): string => `${type} ${id}`

const namesIn = (messages: Messages): ReadonlySet<string> => new Set(messages.flatMap(halvesIn).map(nameOf))

/** A message with those of its calls and results alone that are not known. */
const callsBesides = (message: Prompt.Message, known: ReadonlySet<string>): Messages => {
  const content = halvesIn(message).filter((half) => !known.has(nameOf(half)))
  return content.length === 0 ? [] : [{ ...message, content } as Prompt.Message]
}

/**
 * Returns the calls and the results of a thread that its replacement lacks: they stay completed. A guard may drop a
 * call and keep its result, or the reverse: neither alone shows the outcome.
 */
export const callsLeftOut = (thread: Messages, replaced: Messages): Messages => {
  const known = namesIn(replaced)
  return thread.flatMap((message) => callsBesides(message, known))
}

/**
 * Returns the replacement of a thread's conversation, with the missing calls and results at their earlier positions.
 */
export const inPlaceOf = (thread: Messages, replaced: Messages): Messages => {
  const known = namesIn(replaced)
  const said = texts(thread)
  const all = texts(replaced)
  let next = 0
  const before = thread.flatMap((message, n) => {
    const at = all.indexOf(said[n]!, next)
    return at < 0 ? callsBesides(message, known) : replaced.slice(next, next = at + 1)
  })
  return [...before, ...replaced.slice(next)]
}

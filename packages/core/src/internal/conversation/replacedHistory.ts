/** In place of a thread: what the guard of an input has made of it is read on, and no call is forgotten by that. */
import type * as Prompt from "effect/ai/Prompt"
import { texts } from "../history/continuation.ts"

type Messages = ReadonlyArray<Prompt.Message>
type Half = Prompt.ToolCallPart | Prompt.ToolResultPart

/** The calls and the results of a message, without what was said beside them. */
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
 * The calls and the results of a thread that are not in a conversation which was put in its place: what they did is done. A guard may
 * leave a call out and its result in, or the other way: neither says alone what was done.
 */
export const callsLeftOut = (thread: Messages, replaced: Messages): Messages => {
  const known = namesIn(replaced)
  return thread.flatMap((message) => callsBesides(message, known))
}

/** A conversation that was put in the place of a thread's, with the calls and the results that it leaves out where they stood. */
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

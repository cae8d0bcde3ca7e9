/** In place of a thread: what the guard of an input has made of it is read on, and no call is forgotten by that. */
import * as Prompt from "effect/ai/Prompt"
import { texts } from "../history/continuation.ts"

type Messages = ReadonlyArray<Prompt.Message>

const idsIn = (messages: Messages): ReadonlySet<string> =>
  new Set(
    messages.flatMap(({ content }) =>
      typeof content === "string"
        ? []
        : content.flatMap((part) => part.type === "tool-call" || part.type === "tool-result" ? [part.id] : [])
    )
  )

/** The calls and results of a message besides those with the ids, without what was said beside them. */
const callsBesides = (message: Prompt.Message, ids: ReadonlySet<string>): Messages => {
  const { options, role } = message
  if (role === "tool") {
    const content = message.content.filter((part) => part.type === "tool-result" && !ids.has(part.id))
    return content.length === 0 ? [] : [Prompt.toolMessage({ content, options })]
  }
  if (role !== "assistant") return []
  const content = message.content.filter((part) =>
    (part.type === "tool-call" || part.type === "tool-result") && !ids.has(part.id)
  )
  return content.length === 0 ? [] : [Prompt.assistantMessage({ content, options })]
}

/** The calls of a thread that are not in a conversation which was put in its place: what they did is done. */
export const callsLeftOut = (thread: Messages, replaced: Messages): Messages => {
  const ids = idsIn(replaced)
  return thread.flatMap((message) => callsBesides(message, ids))
}

/** A conversation that was put in the place of a thread's, with the calls that it leaves out where they stood. */
export const inPlaceOf = (thread: Messages, replaced: Messages): Messages => {
  const ids = idsIn(replaced)
  const known = texts(thread)
  const all = texts(replaced)
  let next = 0
  const before = thread.flatMap((message, n) => {
    const at = all.indexOf(known[n]!, next)
    return at < 0 ? callsBesides(message, ids) : replaced.slice(next, next = at + 1)
  })
  return [...before, ...replaced.slice(next)]
}

/** What of a thread the model reads, and what people are shown. */
import * as Prompt from "effect/ai/Prompt"
import type * as Schema from "effect/Schema"
import { withoutCalls, withTaintOf } from "../history/calls.ts"
import { decodePrompt, encodePrompt } from "../foundation/promptJson.ts"
import type { Audience, Entry, Event } from "./thread.ts"

interface EncodedPrompt {
  readonly content: ReadonlyArray<Schema.Json>
}

const messagesOf = (content: ReadonlyArray<Schema.Json>): ReadonlyArray<Prompt.Message> =>
  decodePrompt({ content }).content

/** The JSON of messages, one by one. */
export const encodeMessages = (messages: ReadonlyArray<Prompt.Message>): ReadonlyArray<Schema.Json> =>
  (encodePrompt(Prompt.fromMessages(messages)) as unknown as EncodedPrompt).content

/**
 * Messages as what is appended to a thread.
 *
 * **Example** (A note that only people read)
 *
 * ```ts
 * import { Prompt } from "effect/ai"
 * import { Conversation } from "@recourse/core"
 *
 * const note = Prompt.make("A colleague takes over.").content
 * Conversation.said(note, "people").map(({ audience }) => audience) // => ["people"]
 * ```
 */
export const said = (
  messages: ReadonlyArray<Prompt.Message>,
  audience: Audience = "everyone"
): ReadonlyArray<Extract<Event, { readonly _tag: "Said" }>> =>
  encodeMessages(messages).map((message) => ({ _tag: "Said", audience, message }))

/** A message of what the model reads, and the position of the entry that it is of. */
interface Placed {
  readonly position: number
  readonly message: Prompt.Message
}

const promptOf = (placed: ReadonlyArray<Placed>): Prompt.Prompt =>
  Prompt.fromMessages(placed.map(({ message }) => message))

/** The messages before a change, put in their places again: what is left of each stands where it stood. */
const replace = (placed: Array<Placed>, left: Prompt.Prompt): Array<Placed> => {
  const positions = new Map(placed.map(({ message, position }) => [message, position]))
  let last = 0
  return left.content.map((message) => ({ message, position: last = positions.get(message) ?? last }))
}

const userMessageOf = ({ event }: Entry): string | undefined =>
  event._tag === "Said" && (event.message as { readonly role?: unknown } | null)?.role === "user"
    ? JSON.stringify(event.message)
    : undefined

/** Without what a user has said again for the same run: that had not begun the first time. */
const saidOnce = (entries: ReadonlyArray<Entry>): ReadonlyArray<Entry> =>
  entries.filter((entry, n) => {
    const before = entries[n - 1]
    if (before === undefined || entry.runId === undefined || entry.runId !== before.runId) return true
    const message = userMessageOf(entry)
    return message === undefined || message !== userMessageOf(before)
  })

/**
 * What the model reads of a thread. It is not mended: an agent does so with what its `prompt` gives.
 *
 * Throws for entries that hold no messages: only what a store has answered is read.
 */
export const sent = (entries: ReadonlyArray<Entry>): Prompt.Prompt => {
  let placed: Array<Placed> = []
  for (const { event, position } of saidOnce(entries)) {
    switch (event._tag) {
      case "Said":
        if (event.audience === "people") break
        for (const message of messagesOf([event.message])) placed.push({ position, message })
        break
      case "CallsForgotten":
        placed = replace(placed, withoutCalls(promptOf(placed), new Set(event.calls)))
        break
      case "Replaced": {
        const by = messagesOf(event.by).map((message) => ({ position: event.through, message }))
        const behind = placed.filter(({ position }) => position > event.through)
        placed = replace([...by, ...behind], withTaintOf(promptOf(placed), promptOf([...by, ...behind])))
      }
    }
  }
  return promptOf(placed)
}

/** A message that people are shown. */
export interface ShownMessage {
  readonly position: number
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly runId?: string
  readonly message: Exclude<Prompt.Message, Prompt.SystemMessage>
}

/** What people are shown of a thread: all that was said, but for system messages and what is for the model alone. */
export const shown = (entries: ReadonlyArray<Entry>): ReadonlyArray<ShownMessage> =>
  saidOnce(entries).flatMap(({ at, event, position, runId }) =>
    event._tag !== "Said" || event.audience === "model" ?
      [] :
      messagesOf([event.message]).flatMap((message) =>
        message.role === "system"
          ? []
          : [{ position, at, ...(runId === undefined ? undefined : { runId }), message }]
      )
  )

/** The text of a message that a search finds: what people and models have said, not what tools have. */
export const searchText = (event: Event): string => {
  if (event._tag !== "Said" || event.audience === "model") return ""
  return messagesOf([event.message]).flatMap((message) =>
    message.role !== "user" && message.role !== "assistant" ?
      [] :
      message.content.flatMap((part) => part.type === "text" ? [part.text] : [])
  ).join("\n").toLowerCase()
}

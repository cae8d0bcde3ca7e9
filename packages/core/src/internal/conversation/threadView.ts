/** Projections of a thread for the model and for people. */
import * as Prompt from "effect/ai/Prompt"
import type * as Schema from "effect/Schema"
import { withoutCalls, withTaintOf } from "../history/remainingCalls.ts"
import { decodePrompt, encodePrompt } from "../foundation/json/promptJson.ts"
import { joinedMarkOf } from "../run/joinedMark.ts"
import { freeId, type Mending, renamed } from "../history/mendHistory.ts"
import { messagesOfCall, openCalls } from "./pendingCalls.ts"
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
 * Messages as entries of a thread.
 *
 * **Example** (A note that only people read)
 *
 * ```ts
 * import { Prompt } from "effect/ai"
 * import { Conversation } from "@recourse/core"
 *
 * const note = Prompt.make("A colleague takes over.").content
 * Conversation.toEvents(note, "people").map(({ audience }) => audience) // => ["people"]
 * ```
 *
 * @category converting
 * @since 0.2.0
 */
export const toEvents = (
  messages: ReadonlyArray<Prompt.Message>,
  audience: Audience = "everyone"
): ReadonlyArray<Extract<Event, Record<"_tag", "MessageAdded">>> =>
  encodeMessages(messages).map((message) => ({ _tag: "MessageAdded", audience, message }))

/** A message of the model's projection, and the position of its entry. */
interface Placed {
  readonly position: number
  readonly message: Prompt.Message
}

const promptOf = (placed: ReadonlyArray<Placed>): Prompt.Prompt =>
  Prompt.fromMessages(placed.map(({ message }) => message))

/** Restores the positions of messages after a change: each remaining message has its earlier position. */
const replace = (placed: Array<Placed>, left: Prompt.Prompt): Array<Placed> => {
  const positions = new Map(placed.map(({ message, position }) => [message, position]))
  let last = 0
  return left.content.map((message) => ({ message, position: last = positions.get(message) ?? last }))
}

const userMessageOf = ({ event }: Entry): string | undefined =>
  event._tag === "MessageAdded" && (event.message as { readonly role?: unknown } | null)?.role === "user"
    ? JSON.stringify(event.message)
    : undefined

const isWrite = ({ event: { _tag } }: Entry): boolean => _tag === "WriteStarted" || _tag === "WriteEnded"

/** The entry before a message, without the writes of the same run. */
const entryBefore = (entries: ReadonlyArray<Entry>, n: number, runId: string): Entry | undefined => {
  let before = n - 1
  while (before >= 0 && entries[before]!.runId === runId && isWrite(entries[before]!)) before--
  return entries[before]
}

/** Without messages that a user sends again for the same run: the run did not start the first time, or its process died. */
const distinctMessages = (entries: ReadonlyArray<Entry>): ReadonlyArray<Entry> =>
  entries.filter((entry, n) => {
    const message = entry.runId === undefined ? undefined : userMessageOf(entry)
    if (message === undefined) return true
    const before = entryBefore(entries, n, entry.runId!)
    return before === undefined || before.runId !== entry.runId || message !== userMessageOf(before)
  })

/** Gives each call an id of its own: of two calls with one id, a forgotten one would take the other with it. */
class CallIds {
  readonly repaired: Array<Mending> = []
  private readonly ids = new Set<string>()
  /** The ids that the calls of the last message with an id have now; the results take them in order. */
  private readonly current = new Map<string, Array<string>>()

  /** The id of the last call that was said under an id. */
  readonly last = (id: string): string => this.current.get(id)?.at(-1) ?? id

  private readonly call = (part: Prompt.AssistantMessagePart, earlier: Set<string>): Prompt.AssistantMessagePart => {
    if (part.type !== "tool-call" || part.providerExecuted) return part
    const id = freeId(this.ids, part.id)
    this.ids.add(id)
    this.current.set(part.id, earlier.has(part.id) ? [...this.current.get(part.id)!, id] : [id])
    earlier.add(part.id)
    if (id === part.id) return part
    this.repaired.push({ problem: "repeated_id", callId: id, tool: part.name })
    return renamed(part, id)
  }

  private readonly result = (part: Prompt.ToolMessagePart): Prompt.ToolMessagePart => {
    if (part.type !== "tool-result") return part
    const ids = this.current.get(part.id) ?? [part.id]
    const id = ids.length > 1 ? ids.shift()! : ids[0]!
    return id === part.id ? part : renamed(part, id)
  }

  readonly of = (message: Prompt.Message): Prompt.Message => {
    if (message.role !== "assistant" && message.role !== "tool") return message
    const earlier = new Set<string>()
    const content = message.role === "assistant"
      ? message.content.map((part) => this.call(part, earlier))
      : message.content.map(this.result)
    return content.every((part, n) => part === message.content[n]) ? message : { ...message, content } as Prompt.Message
  }
}

/** Returns the model's projection of a thread, and the ids that were replaced. */
export const readThread = (
  entries: ReadonlyArray<Entry>
): { readonly prompt: Prompt.Prompt; readonly repaired: ReadonlyArray<Mending> } => {
  let placed: Array<Placed> = []
  const ids = new CallIds()
  const open = new Map(openCalls(entries).map((call) => [call.position, call]))
  const add = (position: number, messages: ReadonlyArray<Prompt.Message>) => {
    for (const message of messages) placed.push({ position, message: ids.of(message) })
  }
  for (const { event, position } of distinctMessages(entries)) {
    switch (event._tag) {
      case "MessageAdded":
        if (event.audience !== "people") add(position, messagesOf([event.message]))
        break
      case "WriteStarted": {
        const call = open.get(position)
        if (call !== undefined) add(position, messagesOfCall(call))
        break
      }
      case "ToolCallsPruned":
        placed = replace(placed, withoutCalls(promptOf(placed), new Set(event.calls.map(ids.last))))
        break
      case "HistoryCompacted": {
        const by = messagesOf(event.by).map((message) => ({ position: event.through, message }))
        const behind = placed.filter(({ position }) => position > event.through)
        placed = replace([...by, ...behind], withTaintOf(promptOf(placed), promptOf([...by, ...behind])))
      }
    }
  }
  return { prompt: promptOf(placed), repaired: ids.repaired }
}

/**
 * Returns the model's projection of a thread. It includes writes of turns that did not end, each with its result, or
 * with the failure `outcome_unknown`. Only ids of two calls are mended: an agent mends its `prompt` itself.
 *
 * Throws for entries without messages: only answers of a store are read.
 *
 * @category converting
 * @since 0.2.0
 */
export const toPrompt = (entries: ReadonlyArray<Entry>): Prompt.Prompt => readThread(entries).prompt

/**
 * A message that people are shown.
 *
 * @category models
 * @since 0.2.0
 */
export interface VisibleMessage {
  readonly position: number
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly runId?: string
  /** The id of a message that joined its run while it was running. */
  readonly joinedAs?: string
  readonly message: Exclude<Prompt.Message, Prompt.SystemMessage>
}

/**
 * Returns the people's projection of a thread: all messages, except system messages and those only for the model. For a
 * turn that has not ended, it has the started writes; such a call has no result while its run may be active.
 *
 * @category getters
 * @since 0.2.0
 */
export const visibleMessages = (entries: ReadonlyArray<Entry>): ReadonlyArray<VisibleMessage> => {
  const open = new Map(
    openCalls(entries).flatMap((call) => [
      [call.position, call.message] as const,
      ...(call.result === undefined ? [] : [[call.result.position, call.result.message] as const])
    ])
  )
  return distinctMessages(entries).flatMap(({ at, event, position, runId }) => {
    const message = event._tag === "MessageAdded" && event.audience !== "model" ? event.message : open.get(position)
    return message === undefined ? [] : messagesOf([message]).flatMap((message) => {
      if (message.role === "system") return []
      const joined = joinedMarkOf(message.options)
      return [{
        position,
        at,
        ...(runId === undefined ? undefined : { runId }),
        ...(joined === undefined ? undefined : { joinedAs: joined.messageId }),
        message
      }]
    })
  })
}

/** Returns the searchable text of a message: that of people and models, not of tools. */
export const searchText = (event: Event): string => {
  if (event._tag !== "MessageAdded" || event.audience === "model") return ""
  return messagesOf([event.message]).flatMap((message) =>
    message.role !== "user" && message.role !== "assistant" ?
      [] :
      message.content.flatMap((part) => part.type === "text" ? [part.text] : [])
  ).join("\n").toLowerCase()
}

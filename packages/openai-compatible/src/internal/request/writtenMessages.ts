/**
 * Written messages: a conversation is sent again in each request of a run, and a message is written once. Messages of a prompt do not
 * change: they are known by their objects.
 */
import type * as Prompt from "effect/ai/Prompt"
import * as OpaqueState from "../answer/opaqueState.ts"
import type { CallIds } from "./portableCalls.ts"
import type { Quirks } from "../../Quirks.ts"
import * as WellFormed from "./wellFormed.ts"

/** Options of writing a prompt for one server. */
export interface Writing {
  readonly quirks: Quirks
  /** The server whose opaque state is returned. */
  readonly server: string
  readonly inline: boolean
}

export type Message = { readonly role: string; readonly content: unknown } & Readonly<Record<string, unknown>>

interface Written extends Writing {
  readonly messages: ReadonlyArray<Message>
}

const all = new WeakMap<Prompt.Message, Written>()

const texts = new WeakMap<Message, string>()

/** The JSON of a message. */
export const textOf = (message: Message): string => texts.get(message) ?? WellFormed.stringify(message)!

/** The shortest conversation whose messages are kept: to keep a message takes as long as to write it once or twice. */
const least = 12

/** True if the messages of a conversation are kept. */
export const areKept = ({ content }: Prompt.Prompt): boolean => content.length >= least

/** The longest kept text. Files are longer, and would be held twice. */
const most = 65_536

const isCall = (part: Prompt.AssistantMessagePart): part is Prompt.ToolCallPart =>
  part.type === "tool-call" && !part.providerExecuted

/** True if a call has the id that its server gave it: whether that is written depends on the calls before it. */
const hasOwnId = (part: Prompt.AssistantMessagePart, { server }: Writing): boolean =>
  isCall(part) && OpaqueState.fieldsOf(part.options, server)?.id !== undefined

/** Keeps what was written of a message. */
export const keep = (message: Prompt.Message, writing: Writing, messages: ReadonlyArray<Message>): void => {
  if (message.role === "assistant" && message.content.some((part) => hasOwnId(part, writing))) return
  const written = messages.map(textOf)
  if (written.some(({ length }) => length > most)) return
  messages.forEach((one, index) => texts.set(one, written[index]!))
  all.set(message, { ...writing, messages })
}

/** True if the results of a message have the ids of their calls. */
const fits = (messages: ReadonlyArray<Message>, message: Prompt.ToolMessage, ids: CallIds): boolean => {
  const results = message.content.filter((part) => part.type === "tool-result")
  return results.every(({ id }, index) => messages[index]!["tool_call_id"] === ids.ofResult(id))
}

/** What was written of a message for the same server, if it would be the same again; its calls have their ids then. */
export const known = (
  message: Prompt.Message,
  { inline, quirks, server }: Writing,
  ids: CallIds
): ReadonlyArray<Message> | undefined => {
  const written = all.get(message)
  if (written?.quirks !== quirks || written.server !== server || written.inline !== inline) return undefined
  if (inline) return written.messages
  if (message.role === "tool" && !fits(written.messages, message, ids)) return undefined
  if (message.role === "assistant") {
    for (const part of message.content) if (isCall(part)) ids.ofCall(part.id, undefined)
  }
  return written.messages
}

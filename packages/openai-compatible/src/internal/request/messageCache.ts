/**
 * Cache of written messages: a conversation is sent again in each request of a run, and each of its messages is written and printed once.
 * Messages of a prompt do not change: their objects are the keys.
 */
import type * as Prompt from "effect/ai/Prompt"
import type * as AiError from "effect/ai/AiError"
import * as Result from "effect/Result"
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

/** Writes a message, or says why it cannot be given. */
export type Write = (
  message: Prompt.Message,
  writing: Writing,
  ids: CallIds
) => Result.Result<ReadonlyArray<Message>, AiError.AiErrorReason>

interface Written extends Writing {
  readonly messages: ReadonlyArray<Message>
}

const cache = new WeakMap<Prompt.Message, Written>()

const texts = new WeakMap<Message, string>()

/** The JSON of a message. */
export const textOf = (message: Message): string => texts.get(message) ?? WellFormed.stringify(message)!

/** The shortest conversation whose messages are cached: an entry takes as long as to write a message once or twice. */
const least = 12

/** True if the messages of a conversation are cached. */
export const isCached = ({ content }: Prompt.Prompt): boolean => content.length >= least

/** The longest cached text. Files are longer, and would be in memory twice. */
const most = 65_536

const isCall = (part: Prompt.AssistantMessagePart): part is Prompt.ToolCallPart =>
  part.type === "tool-call" && !part.providerExecuted

/** True if a call has the id that its server gave it: whether that is written depends on the calls before it. */
const hasOwnId = (part: Prompt.AssistantMessagePart, { server }: Writing): boolean =>
  isCall(part) && OpaqueState.fieldsOf(part.options, server)?.id !== undefined

/** Caches the written form of a message. */
const store = (message: Prompt.Message, writing: Writing, messages: ReadonlyArray<Message>): void => {
  if (message.role === "assistant" && message.content.some((part) => hasOwnId(part, writing))) return
  const written = messages.map(textOf)
  if (written.some(({ length }) => length > most)) return
  messages.forEach((one, index) => texts.set(one, written[index]!))
  cache.set(message, { ...writing, messages })
}

/** True if the results of a message have the ids of their calls. */
const fits = (messages: ReadonlyArray<Message>, message: Prompt.ToolMessage, ids: CallIds): boolean => {
  const results = message.content.filter((part) => part.type === "tool-result")
  return results.every(({ id }, index) => messages[index]!["tool_call_id"] === ids.ofResult(id))
}

/** The written form of a message for the same server, if it would be the same again; its calls have their ids then. */
const lookup = (
  message: Prompt.Message,
  { inline, quirks, server }: Writing,
  ids: CallIds
): ReadonlyArray<Message> | undefined => {
  const written = cache.get(message)
  if (written?.quirks !== quirks || written.server !== server || written.inline !== inline) return undefined
  if (inline) return written.messages
  if (message.role === "tool" && !fits(written.messages, message, ids)) return undefined
  if (message.role === "assistant") {
    for (const part of message.content) if (isCall(part)) ids.ofCall(part.id, undefined)
  }
  return written.messages
}

/** Writes each message once. */
export const writeOnce = (write: Write): Write => (message, writing, ids) => {
  const found = lookup(message, writing, ids)
  if (found !== undefined) return Result.succeed(found)
  const written = write(message, writing, ids)
  if (Result.isSuccess(written)) store(message, writing, written.success)
  return written
}

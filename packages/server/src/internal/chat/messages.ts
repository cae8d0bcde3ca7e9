/**
 * Messages of a thread for a page: users' messages, and the shown parts of agents' runs. A run of this process is shown
 * from its events, exactly like live; another one from its stored state.
 */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type * as Prompt from "effect/ai/Prompt"
import type { InvalidInput } from "@recourse/core/AgentError"
import * as Conversation from "@recourse/core/Conversation"
import { type RunInfo, type RunsUnavailable, UnknownRun } from "@recourse/core/Runs"
import { UiMessageStream } from "../../UiMessageStream.ts"
import { assemble, type UiMessage, type UiPart } from "../../UiMessage.ts"
import type { UnknownOutcome } from "../../UiMessageChunk.ts"
import { couldNot } from "../wire/texts.ts"
import type { Chats } from "./chats.ts"
import { questionId } from "./questions.ts"
import { follow } from "./segments.ts"

/** The id of the message that a run is. */
export const messageIdOf = (runId: string): string => `msg_${runId}`

/** Returns the run of a message; `undefined` for an id that a page has made. */
export const runIdOfMessage = (id: string): string | undefined => /^msg_(run_.+)$/.exec(id)?.[1]

/** The id of a user's message. */
const saidId = (position: number): string => `user_${position}`

/** True if an id is of an earlier message that the page has received. */
export const isSaidId = (id: string): boolean => /^user_\d+$/.test(id)

/** The chunks of a run that has ended or waits. */
const chunksOf = (chats: Chats, { runId, status }: RunInfo, threadId: string, shows: (tool: string) => boolean) => {
  let segment = 0
  const mapper = new UiMessageStream({
    messageId: messageIdOf(runId),
    threadId,
    approvalId: (callId) => questionId({ runId, segment, callId }),
    shows
  })
  return Effect.map(Stream.runCollect(follow(chats.runs, runId)), (events) => [
    ...events.flatMap((entry) => {
      segment = entry.segment
      return mapper.next(entry.event)
    }),
    ...(status === "waiting" ? [] : mapper.withdraw())
  ])
}

/** People's findings about the calls of a run, by call id. */
export type ChecksOf = (runId: string) => Effect.Effect<ReadonlyMap<string, UnknownOutcome["checked"]>, RunsUnavailable>

const isUnknown = ({ type }: UiPart): boolean => type === "data-outcome"

/** A message with people's findings about its calls. */
const withChecks = (message: UiMessage, runId: string, checksOf: ChecksOf) =>
  !message.parts.some(isUnknown) ? Effect.succeed(message) : Effect.map(checksOf(runId), (checks) => ({
    ...message,
    parts: message.parts.map((part) => {
      const checked = isUnknown(part) ? checks.get((part["data"] as UnknownOutcome).callId) : undefined
      return checked === undefined ? part : { ...part, data: { ...part["data"] as UnknownOutcome, checked } }
    })
  }))

/** A part of an assistant's stored message. */
const partOf = (
  part: Prompt.AssistantMessagePart,
  results: ReadonlyMap<string, Prompt.ToolResultPart>,
  shows: (tool: string) => boolean
): UiPart | undefined => {
  switch (part.type) {
    case "text":
    case "reasoning":
      return { type: part.type, text: part.text, state: "done" }
    case "tool-call": {
      const result = results.get(part.id)
      const isShown = shows(part.name)
      const call = { type: "dynamic-tool", toolName: part.name, toolCallId: part.id, input: isShown ? part.params : {} }
      if (result === undefined) return { ...call, state: "input-available" }
      return result.isFailure
        ? { ...call, state: "output-error", errorText: couldNot(part.name) }
        : { ...call, state: "output-available", output: isShown ? result.result ?? null : null }
    }
    default:
      return undefined
  }
}

const userPart = (part: Prompt.UserMessagePart): UiPart | undefined => {
  if (part.type === "text") return { type: "text", text: part.text }
  return typeof part.data === "string" ? { type: "file", mediaType: part.mediaType, url: part.data } : undefined
}

const textOf = ({ content }: Prompt.UserMessage): string =>
  content.flatMap((part) => part.type === "text" ? [part.text] : []).join("\n")

const defined = <A>(values: ReadonlyArray<A | undefined>): ReadonlyArray<A> =>
  values.flatMap((value) => value === undefined ? [] : [value])

/** A user's message, and its answering runs, the newest one last. */
interface Turn {
  readonly message: UiMessage | undefined
  readonly runIds: Array<string>
}

/** A message with the runs of all answers, if there are several. */
const withVersions = (message: UiMessage | undefined, runIds: ReadonlyArray<string>): UiMessage | undefined =>
  message === undefined || runIds.length < 2
    ? message
    : { ...message, metadata: { ...message.metadata as object, versions: runIds } }

/** The messages of a thread, the oldest first. Of several answers to one message, the last one is shown. */
export const messagesOf = Effect.fnUntraced(function*(
  chats: Chats,
  owner: string,
  thread: string,
  shows: (tool: string) => boolean,
  checksOf: ChecksOf
): Effect.fn.Return<
  { readonly thread: typeof Conversation.Thread.Type; readonly messages: ReadonlyArray<UiMessage> },
  Conversation.ThreadNotFound | Conversation.ConversationError | InvalidInput | RunsUnavailable | UnknownRun,
  Conversation.Conversations
> {
  // Pages show the run itself; its stored messages are for search, and for readers of the thread without its runs.
  yield* chats.adopt({ owner, thread })
  const content = yield* (yield* Conversation.Conversations).read({ owner, thread })
  const visible = Conversation.visibleMessages(content.entries)
  const shown = new Map(visible.map(({ message, position }) => [position, message]))
  const joined = new Map(
    visible.flatMap(({ joinedAs, position }) => joinedAs === undefined ? [] : [[position, joinedAs]])
  )
  const runs = new Map((yield* chats.owned.ofThread(owner, thread)).map((run) => [run.runId, run]))
  const results = new Map<string, Prompt.ToolResultPart>()
  for (const message of shown.values()) {
    if (message.role !== "tool") continue
    for (const part of message.content) if (part.type === "tool-result") results.set(part.id, part)
  }
  const turns: Array<Turn> = [{ message: undefined, runIds: [] }]
  const stored = new Map<string, Array<UiPart>>()
  for (const { position, runId } of content.entries) {
    const message = shown.get(position)
    const messageId = joined.get(position)
    if (message?.role === "user" && messageId === undefined) {
      const parts = defined(message.content.map(userPart))
      turns.push({ message: { id: saidId(position), role: "user", parts }, runIds: [] })
    }
    if (runId === undefined) continue
    const { runIds } = turns.at(-1)!
    if (!runIds.includes(runId)) runIds.push(runId)
    if (message?.role !== "assistant" && messageId === undefined) continue
    const parts = message?.role === "user"
      ? [{ type: "data-joined", id: messageId, data: { text: textOf(message) } }]
      : message?.role === "assistant"
      ? defined(message.content.map((part) => partOf(part, results, shows)))
      : []
    stored.set(runId, [...stored.get(runId) ?? [], ...parts])
  }
  const answer = (runId: string): Effect.Effect<UiMessage | undefined, InvalidInput | RunsUnavailable | UnknownRun> => {
    const run = runs.get(runId)
    if (run !== undefined) {
      // A page follows a running run from its start.
      if (run.status === "running" || run.status === "queued") return Effect.undefined
      return Effect.flatMap(
        chunksOf(chats, run, thread, shows),
        (chunks) => withChecks(assemble(messageIdOf(runId), chunks), runId, checksOf)
      )
    }
    const parts = stored.get(runId)
    return Effect.succeed(parts === undefined ? undefined : { id: messageIdOf(runId), role: "assistant", parts })
  }
  const messages = yield* Effect.forEach(turns, ({ message, runIds }) => {
    const runId = runIds.at(-1)
    return Effect.map(
      runId === undefined ? Effect.undefined : answer(runId),
      (answered) => defined([message, withVersions(answered, runIds)])
    )
  })
  return { thread: content.thread, messages: messages.flat() }
})

/** The message of a run of a thread that has ended: one of several answers. */
export const answerOf = Effect.fnUntraced(function*(
  chats: Chats,
  owner: string,
  thread: string,
  runId: string,
  shows: (tool: string) => boolean,
  checksOf: ChecksOf
) {
  const run = (yield* chats.owned.ofThread(owner, thread)).find((one) => one.runId === runId)
  if (run === undefined) return yield* new UnknownRun({ runId })
  const chunks = yield* chunksOf(chats, run, thread, shows)
  return yield* withChecks(assemble(messageIdOf(runId), chunks), runId, checksOf)
})

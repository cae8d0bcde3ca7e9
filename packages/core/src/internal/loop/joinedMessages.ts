/** Joined messages: users' messages that the run reads from its inbox before a request to the model. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Prompt from "effect/ai/Prompt"
import { Message, type RunInbox } from "../../RunInbox.ts"
import { atFirstUse } from "../foundation/lazyValue.ts"
import { joinedKey, turnKey } from "../path/entryKeys.ts"
import { type JoinedMark, joinedMarkOf } from "../run/joinedMark.ts"
import { emit } from "../run/run.ts"
import type { Conversation } from "./program.ts"

const Messages = Schema.Array(Message)

const decodeContent = atFirstUse(() => Schema.decodeUnknownOption(Schema.toCodecJson(Prompt.UserMessage)))

const decodeEntry = Schema.decodeUnknownOption(Messages)

/** Position of the last message that has joined the run; 0 if none has. */
const lastPosition = ({ run, transcript }: Conversation): number => {
  const last = transcript.findLast(({ options, role }) => role === "user" && joinedMarkOf(options)?.runId === run.id)
  return joinedMarkOf(last?.options)?.position ?? 0
}

const messageOf = (runId: string, { content, id, position }: Message): Prompt.UserMessage | undefined => {
  const joined: JoinedMark = { runId, messageId: id, position }
  return Option.getOrUndefined(
    decodeContent()({ role: "user", content, options: { recourse: { joined: { ...joined } } } })
  )
}

const textOf = ({ content }: Prompt.UserMessage): string =>
  content.flatMap((part) => part.type === "text" ? [part.text] : []).join("\n")

/**
 * Adds the messages of the inbox to the conversation. Those of a turn are recorded before its request: a replay reads the
 * same ones, and the inbox again only behind its log.
 */
export const joinMessages = (state: Conversation, inbox: RunInbox): Effect.Effect<void> => {
  const { run, run: { log }, session, transcript } = state
  const turn = session.turn + 1
  const key = turnKey(run.start.place, turn)
  const add = (messages: ReadonlyArray<Message>): ReadonlyArray<readonly [Message, Prompt.UserMessage]> =>
    messages.flatMap((message) => {
      const added = messageOf(run.id, message)
      if (added === undefined) return []
      transcript.add(added)
      return [[message, added]]
    })
  const recorded = decodeEntry(log?.find("wait", joinedKey(key)))
  if (Option.isSome(recorded)) return Effect.sync(() => void add(recorded.value))
  if (log?.find("model", key) !== undefined) return Effect.void
  // A taken message has joined: no interruption comes between that and the conversation.
  const taken = Effect.uninterruptible(
    Effect.map(inbox.take(lastPosition(state)), (messages) => ({ added: add(messages), messages }))
  )
  return Effect.flatMap(taken, ({ added, messages }) => {
    if (messages.length === 0) return Effect.void
    const emitted = Effect.forEach(
      added,
      ([{ id }, message]) => emit(run, () => ({ _tag: "MessageJoined", turn, messageId: id, text: textOf(message) })),
      { discard: true }
    )
    const record = log?.record("wait", joinedKey(key), messages as Schema.Json) ?? Effect.void
    // The events come with the entry, or with neither.
    return Effect.andThen(emitted, record)
  })
}

/** Entries of threads: the message that a run answers, and messages for the model of its next turn. */
import * as Effect from "effect/Effect"
import * as Prompt from "effect/ai/Prompt"
import * as Conversation from "@recourse/core/Conversation"
import type { RunInfo } from "@recourse/core/Runs"
import { threadPrefix } from "./runIds.ts"
import type { Turns } from "./turns.ts"

/** Whose message it is. */
const roleOf = ({ message }: { readonly message: unknown }): unknown =>
  (message as { readonly role?: unknown } | null)?.role

/** Entries of a run that are stored before its turn ends. */
const early = new Set<Conversation.Event["_tag"]>(["HistoryCompacted", "WriteStarted", "WriteEnded"])

/** True if a thread has a run's messages, besides the answered one. */
export const isStored = (entries: ReadonlyArray<Conversation.Entry>, runId: string): boolean =>
  entries.some(({ event, runId: of }) =>
    of === runId && !early.has(event._tag) && !(event._tag === "MessageAdded" && roleOf(event) === "user")
  )

/** Reads and adds entries. */
export class ThreadEntries {
  private readonly conversations: Conversation.Conversations["Service"]
  private readonly turns: Turns

  constructor(conversations: Conversation.Conversations["Service"], turns: Turns) {
    this.conversations = conversations
    this.turns = turns
  }

  /** True if a run answers this message; a removed message counts too. */
  answers(runId: string, key: Conversation.ThreadKey, message: Prompt.RawInput | undefined) {
    if (message === undefined) return Effect.succeed(true)
    // The page's context of a message may differ each time that it is sent.
    const plain = Prompt.make(message).content.map((one) => ({ ...one, options: {} }) as Prompt.Message)
    const events = JSON.stringify(Conversation.toEvents(plain))
    return this.conversations.read(key).pipe(
      Effect.map(({ entries }) => {
        const own = new Set(
          Conversation.visibleMessages(entries).flatMap((one) =>
            one.runId === runId && one.message.role === "user" && one.joinedAs === undefined ? [one.position] : []
          )
        )
        const said = entries.flatMap(({ event, position }) =>
          own.has(position) && event._tag === "MessageAdded"
            ? [{ ...event, message: { ...event.message as object, options: {} } }]
            : []
        )
        return said.length === 0 || JSON.stringify(said) === events
      }),
      Effect.catchTag("ThreadNotFound", () => Effect.succeed(true))
    )
  }

  /** The thread that a run answers in, if it does in one that is there. */
  private readonly threadOf = Effect.fnUntraced({ self: this }, function*({ owner, runId }: RunInfo) {
    const known = this.turns.threadOf(runId)
    if (known !== undefined || owner === undefined) return known
    for (let after: string | undefined = undefined;;) {
      const page: Conversation.ThreadList = yield* this.conversations.list({ owner, limit: 200, after })
      for (const { id } of page.threads) {
        if (runId.startsWith(yield* threadPrefix(owner, id))) return { owner, thread: id }
      }
      if (page.next === undefined) return undefined
      after = page.next
    }
  })

  /**
   * Adds a message for the model of a run's thread: it reads it in its next turn. Pages see that the thread has
   * changed.
   */
  readonly addNote = Effect.fnUntraced({ self: this }, function*(run: RunInfo, text: string) {
    const key = yield* this.threadOf(run)
    if (key === undefined) return
    const events = Conversation.toEvents(
      [Prompt.makeMessage("user", { content: [Prompt.makePart("text", { text })] })],
      "model"
    )
    yield* Effect.catchTag(this.conversations.append({ ...key, events }), "ThreadNotFound", () => Effect.void)
  })
}

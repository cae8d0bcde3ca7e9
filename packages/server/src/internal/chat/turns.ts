/** Turns of chats: each claims its thread, and its messages are stored before the thread is released. */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import type * as Prompt from "effect/ai/Prompt"
import * as Conversation from "@recourse/core/Conversation"
import type { RunsService } from "@recourse/core/Runs"
import { endOfSegment, lastEnd } from "./segments.ts"

/**
 * A thread whose first message is answered.
 *
 * @category models
 * @since 0.2.0
 */
export interface NewThread {
  readonly owner: string
  readonly thread: string
  /** Conversation so far. */
  readonly conversation: Prompt.Prompt
}

/** Makes the title of a thread. */
export type MakeTitle = (said: NewThread) => Effect.Effect<string, unknown>

/** A turn, and the release of its thread. */
export interface ThreadClaim {
  readonly turn: Conversation.Turn
  readonly release: Effect.Effect<void>
}

/** True if a conversation is a user's first message. */
const isFirst = ({ content }: Prompt.Prompt): boolean => content.filter(({ role }) => role === "user").length === 1

/** Number of threads with a cached stored state. */
const mostStored = 10_000

const nameOf = ({ owner, thread }: Conversation.ThreadKey): string => JSON.stringify([owner, thread])

/** The turns of this process. */
export class Turns {
  /** By run: done when the messages of the turn are stored. */
  private readonly done = new Map<string, Deferred.Deferred<void>>()
  /** Threads of the runs that this process has started, until they have ended. */
  private readonly threads = new Map<string, Conversation.ThreadKey>()
  /** Up to which version it is known of a thread that all turns are stored. */
  private readonly stored = new Map<string, number>()
  private readonly runs: RunsService
  private readonly conversations: Conversation.Conversations["Service"]
  private readonly scope: Scope.Scope
  private readonly title: MakeTitle | undefined

  constructor(
    runs: RunsService,
    conversations: Conversation.Conversations["Service"],
    scope: Scope.Scope,
    title: MakeTitle | undefined
  ) {
    this.runs = runs
    this.conversations = conversations
    this.scope = scope
    this.title = title
  }

  /** True if this process stores the messages of a run. */
  has(runId: string): boolean {
    return this.done.has(runId)
  }

  /** The thread of a run that this process has started and that has not ended. */
  threadOf(runId: string): Conversation.ThreadKey | undefined {
    return this.threads.get(runId)
  }

  /** The version of a thread up to which all turns are stored, if it is known. */
  storedVersion(key: Conversation.ThreadKey): number | undefined {
    return this.stored.get(nameOf(key))
  }

  /** Done when the turn of a run, if this process has it, is stored. */
  settled(runId: string): Effect.Effect<void> {
    return Effect.suspend(() => {
      const turn = this.done.get(runId)
      return turn === undefined ? Effect.void : Deferred.await(turn)
    })
  }

  /** Begins a turn, which ends when it is released. */
  claim(options: Conversation.BeginOptions): Effect.Effect<ThreadClaim, Conversation.BeginError> {
    return Effect.flatMap(Scope.make(), (scope) => {
      const release = Scope.close(scope, Exit.void)
      const turn = Effect.onError(Scope.provide(Conversation.begin(options), scope), () => release)
      return Effect.map(turn, (turn) => ({ turn, release }))
    }).pipe(Effect.uninterruptible, Effect.provideService(Conversation.Conversations, this.conversations))
  }

  /**
   * Stores the messages when the segment of the run ends, and releases the thread. Without one: when the run ends, or
   * waits.
   */
  watch(
    runId: string,
    segment: number | undefined,
    { release, turn }: ThreadClaim,
    key: Conversation.ThreadKey
  ): Effect.Effect<void> {
    const done = Deferred.makeUnsafe<void>()
    this.done.set(runId, done)
    this.threads.set(runId, key)
    const ended = segment === undefined ? lastEnd(this.runs, runId) : endOfSegment(this.runs, runId, segment)
    const isCancelled = Effect.map(this.runs.get(runId), ({ status }) => status === "cancelled")
    const store = ended.pipe(
      Effect.flatMap((end) =>
        end?.outcome === "paused" ? Effect.map(isCancelled, (isOver) => isOver ? end : "waits") : Effect.succeed(end)
      ),
      Effect.flatMap((end) => {
        // A waiting run continues with this turn's message: all of it is stored then.
        if (end === "waits") return Effect.void
        this.threads.delete(runId)
        return end === undefined ? Effect.void : Effect.andThen(
          Effect.map(
            turn.end({ transcript: end.transcript, compacted: end.compacted, replacedInput: end.replacedInput, runId }),
            (thread) => this.noteStored(key, thread)
          ),
          end.outcome === "success" && isFirst(turn.prompt) ? this.name(key, end.transcript) : Effect.void
        )
      }),
      Effect.catchCause((cause) => Effect.logError(`The messages of run ${runId} could not be stored`, cause)),
      Effect.ensuring(release),
      Effect.ensuring(Effect.suspend(() => {
        if (this.done.get(runId) === done) this.done.delete(runId)
        return Deferred.succeed(done, undefined)
      }))
    )
    return Effect.asVoid(Effect.forkIn(store, this.scope, { startImmediately: true }))
  }

  /**
   * Ends a run at its pause, for clients of a protocol that cannot answer: a waiting run would be an open question for
   * each repeated request. {@link Turns.settled} follows that.
   */
  readonly endAtPause = (runId: string): Effect.Effect<void> => {
    const done = Deferred.makeUnsafe<void>()
    this.done.set(runId, done)
    const watched = endOfSegment(this.runs, runId, 0).pipe(
      Effect.flatMap((end) => end?.outcome === "paused" ? this.runs.cancel(runId) : Effect.void),
      Effect.catchCause((cause) => Effect.logError(`Run ${runId} waits and could not be ended`, cause)),
      Effect.ensuring(Effect.suspend(() => {
        this.done.delete(runId)
        return Deferred.succeed(done, undefined)
      }))
    )
    return Effect.asVoid(Effect.forkIn(watched, this.scope, { startImmediately: true }))
  }

  /** Records that all turns of a thread are stored. */
  noteStored(key: Conversation.ThreadKey, { version }: Conversation.Thread): void {
    const name = nameOf(key)
    this.stored.delete(name)
    this.stored.set(name, version)
    if (this.stored.size > mostStored) this.stored.delete(this.stored.keys().next().value!)
  }

  /** Sets the title of a thread, in parallel to everything else. A person's title set meanwhile stays. */
  private name(key: Conversation.ThreadKey, conversation: Prompt.Prompt): Effect.Effect<void> {
    const { conversations, scope, title } = this
    if (title === undefined) return Effect.void
    const titled = Effect.map(conversations.read(key), ({ thread }) => thread.title)
    const named = Effect.gen(function*() {
      const before = yield* titled
      const made = (yield* title({ ...key, conversation })).trim()
      if (made !== "" && (yield* titled) === before) yield* conversations.rename({ ...key, title: made.slice(0, 200) })
    })
    const logged = Effect.catchCause(
      named,
      (cause) => Effect.logWarning(`Thread ${key.thread} could not be named`, cause)
    )
    return Effect.asVoid(Effect.forkIn(logged, scope))
  }
}

/** The service that keeps conversations. */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import type { ConversationError, ThreadBusy, ThreadNotFound, VersionConflict } from "./conversationErrors.ts"
import type { Entry, Event, Thread } from "./thread.ts"

/**
 * Names a thread. There is no way to a thread that does not name its owner.
 *
 * @category models
 * @since 0.2.0
 */
export interface ThreadKey {
  /** Owner of the thread: take it from your authentication, never from the page's request. */
  readonly owner: string
  /** Id of the thread, unique for its owner. */
  readonly thread: string
}

/**
 * Filter of listed threads.
 *
 * @category options
 * @since 0.2.0
 */
export interface ListOptions {
  /** Owner of the threads. */
  readonly owner: string
  /** Only threads whose title, or whose messages, hold this text; capitals do not matter. */
  readonly search?: string | undefined
  /** Number of threads of a page. Default: 50; 200 at most. */
  readonly limit?: number | undefined
  /** `next` of the page before. */
  readonly after?: string | undefined
}

/**
 * Some threads of an owner, those that were updated last first.
 *
 * @category models
 * @since 0.2.0
 */
export interface ThreadList {
  readonly threads: ReadonlyArray<Thread>
  /** Cursor of the next page; absent on the last one. */
  readonly next?: string
}

/**
 * A thread with its entries.
 *
 * @category models
 * @since 0.2.0
 */
export interface ThreadContent {
  readonly thread: Thread
  readonly entries: ReadonlyArray<Entry>
  /** The snapshot of the run that waits, if one does: see `Approval`. It must not leave the server. */
  readonly snapshot?: Schema.Json
  /** The claim of the run that has the thread, with the end of its lease in milliseconds since the epoch. */
  readonly claim?: { readonly id: string; readonly until: number }
}

/**
 * Appended entries, all or none.
 *
 * @category options
 * @since 0.2.0
 */
export interface AppendOptions extends ThreadKey {
  /** The appended events, in their order. */
  readonly events: ReadonlyArray<Event>
  /** The run that the events are of. Default: none. */
  readonly runId?: string | undefined
  /** The version that the thread must have. Left out: whatever it has. */
  readonly version?: number | undefined
  /** Holds the thread for a run: fails with `ThreadBusy` while another one holds it. */
  readonly claim?: { readonly id: string; readonly lease: Duration.Duration } | undefined
  /** Appends only while this claim has the thread, also behind its lease if no other run took it: else fails with `ThreadBusy`. */
  readonly requiredClaim?: string | undefined
  /** Releases the thread if this claim has it. With `claim`, that one replaces it. */
  readonly release?: string | undefined
  /** The snapshot of a run that waits; `null`: none waits any more. Left out: as before. */
  readonly snapshot?: Schema.Json | undefined
}

/**
 * Keeps conversations: threads and their entries, by owner.
 *
 * **Example** (The threads of an owner)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Conversation } from "@recourse/core"
 *
 * const program = Effect.gen(function*() {
 *   const conversations = yield* Conversation.Conversations
 *   yield* conversations.create({ owner: "ada", thread: "t1", title: "Tea" })
 *   return (yield* conversations.list({ owner: "ada" })).threads.map(({ title }) => title)
 * })
 *
 * await Effect.runPromise(program.pipe(Effect.provide(Conversation.layerMemory))) // => ["Tea"]
 * ```
 *
 * @category services
 * @since 0.2.0
 */
export class Conversations extends Context.Service<Conversations, {
  /** Creates a thread, unless the owner has one of this id: then returns that one unchanged. */
  readonly create: (options: ThreadKey & { readonly title?: string | undefined }) => Effect.Effect<
    Thread,
    ConversationError
  >
  readonly list: (options: ListOptions) => Effect.Effect<ThreadList, ConversationError>
  /** A thread with its entries, or with those behind a position. */
  readonly read: (options: ThreadKey & { readonly after?: number | undefined }) => Effect.Effect<
    ThreadContent,
    ThreadNotFound | ConversationError
  >
  readonly rename: (options: ThreadKey & { readonly title: string }) => Effect.Effect<
    Thread,
    ThreadNotFound | ConversationError
  >
  /** Deletes a thread with all its entries. */
  readonly delete: (key: ThreadKey) => Effect.Effect<void, ThreadNotFound | ConversationError>
  /** Appends to a thread, and returns its new state. */
  readonly append: (options: AppendOptions) => Effect.Effect<
    Thread,
    ThreadNotFound | VersionConflict | ThreadBusy | ConversationError
  >
  /**
   * Deletes some threads that were not changed for so many milliseconds, with all that is of them, whoever they belong to; answers
   * how many: 0 when there are none left. A thread that a run holds stays.
   */
  readonly purge: (olderThanMillis: number) => Effect.Effect<number, ConversationError>
  /** Holds a thread for longer; answers whether the claim still holds it. */
  readonly renew: (key: ThreadKey, claim: { readonly id: string; readonly lease: Duration.Duration }) => Effect.Effect<
    boolean,
    ConversationError
  >
}>()("@recourse/core/Conversation") {}

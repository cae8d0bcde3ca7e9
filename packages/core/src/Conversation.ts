/**
 * Conversations: chats that remember, by owner and thread.
 *
 * A thread is a list of entries that only grows. What the model reads and what people are shown are two readings of it:
 * {@link toPrompt} leaves failed calls out, and what a summary stands for; {@link visibleMessages} has all that was said. Marks of untrusted
 * text are stored with the messages. Every operation names the owner.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as KeyValueStore from "effect/persistence/KeyValueStore"
import * as SqlClient from "effect/sql/SqlClient"
import type * as SqlError from "effect/sql/SqlError"
import * as Duration from "effect/Duration"
import type { ConfigurationError } from "./ConfigurationError.ts"
import type { ConversationError } from "./internal/conversation/conversationErrors.ts"
import { layerRepeatedly } from "./internal/foundation/effect/repeatLayer.ts"
import { durationOf } from "./internal/foundation/options/optionCheck.ts"
import { createSql, type Dialect, prepareTable } from "./internal/foundation/sqlTable.ts"
import { memoryConversations } from "./internal/conversation/stores/conversationMemoryStore.ts"
import { keyValueConversations } from "./internal/conversation/stores/conversationKeyValueStore.ts"
import { Conversations } from "./internal/conversation/conversationService.ts"
import { entryColumns, sqlConversations, threadColumns } from "./internal/conversation/stores/conversationSqlStore.ts"
export {
  resume,
  type ResumeOptions,
  send,
  type SendOptions,
  type Sent,
  stream,
  type WriteError
} from "./internal/agent/resume/chatTurn.ts"
export {
  ConversationError,
  ThreadBusy,
  ThreadNotFound,
  TurnOver,
  VersionConflict
} from "./internal/conversation/conversationErrors.ts"
export { decode, encode } from "./internal/conversation/conversationJson.ts"
export {
  type AppendOptions,
  Conversations,
  type ListOptions,
  type ThreadContent,
  type ThreadKey,
  type ThreadList
} from "./internal/conversation/conversationService.ts"
export { isCursor } from "./internal/conversation/stores/storeParts.ts"
export {
  Audience,
  Entry,
  type EntrySchema,
  Event,
  type EventSchema,
  HistoryCompacted,
  MessageAdded,
  Thread,
  type ThreadSchema,
  ToolCallsPruned,
  TurnEnded,
  WriteEnded,
  WriteStarted
} from "./internal/conversation/thread.ts"
export { toEvents, toPrompt, type VisibleMessage, visibleMessages } from "./internal/conversation/threadView.ts"
export { begin, type BeginError, type BeginOptions, type StartedCall, type Turn } from "./internal/conversation/turn.ts"
export type { EndOptions } from "./internal/conversation/turnEvents.ts"
export { WriteNotStored } from "./internal/run/writes/writeLog.ts"

/**
 * Conversations in a key/value store of `effect/persistence`. For one process at a time, because key/value stores
 * cannot compare and set: use {@link layerSql} if several processes serve one owner.
 *
 * @category layers
 * @since 0.2.0
 */
export const layerKeyValueStore = (
  options?: {
    /** Put before every key. Default: `"conversations/"`. */
    readonly prefix?: string | undefined
  }
): Layer.Layer<Conversations, never, KeyValueStore.KeyValueStore> =>
  Layer.effect(
    Conversations,
    Effect.map(
      KeyValueStore.KeyValueStore,
      (store) => keyValueConversations(KeyValueStore.prefix(store, options?.prefix ?? "conversations/"))
    )
  )

/**
 * Conversations in the memory of the process.
 *
 * @category layers
 * @since 0.2.0
 */
export const layerMemory: Layer.Layer<Conversations> = Layer.sync(Conversations, memoryConversations)

const defaultTables = { threads: "recourse_threads", entries: "recourse_thread_entries" }

/**
 * Names of the tables. Default: `recourse_threads` and `recourse_thread_entries`. May have a schema: `"chat.threads"`.
 *
 * @category models
 * @since 0.2.0
 */
export interface Tables {
  readonly threads: string
  readonly entries: string
}

/**
 * The SQL that makes both tables, for migrations of your own: use it with `layerSql({ create: false })`.
 *
 * @category getters
 * @since 0.2.0
 */
export const createTablesSql = (dialect: Dialect, options?: { readonly tables?: Tables | undefined }): string => {
  const { entries, threads } = options?.tables ?? defaultTables
  return createSql(threads, threadColumns, dialect) + createSql(entries, entryColumns, dialect)
}

/**
 * Conversations in two SQL tables, for any number of processes. For PostgreSQL, SQLite, MySQL and MariaDB.
 *
 * The tables are created if they are missing, and checked at start: tables that cannot be used are a `ConfigurationError` that
 * says how they are made. A search reads the texts of the owner's messages.
 *
 * @category layers
 * @since 0.2.0
 */
export const layerSql = (
  options?: {
    readonly tables?: Tables | undefined
    /** True if the layer creates missing tables. Default: true. */
    readonly create?: boolean | undefined
  }
): Layer.Layer<Conversations, SqlError.SqlError | ConfigurationError, SqlClient.SqlClient> =>
  Layer.effect(
    Conversations,
    Effect.gen(function*() {
      const client = yield* SqlClient.SqlClient
      const sql = client.withoutTransforms()
      const tables = options?.tables ?? defaultTables
      const how = { subject: "Conversation.layerSql", create: options?.create }
      yield* prepareTable(sql, tables.threads, threadColumns, how)
      yield* prepareTable(sql, tables.entries, entryColumns, how)
      return sqlConversations(client, tables)
    })
  )

/**
 * Retention of threads.
 *
 * @category options
 * @since 0.2.0
 */
export interface PurgeOptions {
  /** Threads that were changed within this time stay. Default: 90 days. */
  readonly keepFor?: Duration.Input | undefined
}

/**
 * Deletes threads that were not changed for a long time, with their messages and the snapshots of runs that wait, whoever they
 * belong to; answers how many. A thread that a run holds stays. Runs and their events have `RunStore.purge` of `@recourse/durable`.
 *
 * **Example** (Forget everything)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Conversation } from "@recourse/core"
 *
 * const program = Effect.gen(function*() {
 *   const { create } = yield* Conversation.Conversations
 *   yield* create({ owner: "ada", thread: "t1" })
 *   return [yield* Conversation.purge(), yield* Conversation.purge({ keepFor: 0 })]
 * })
 *
 * await Effect.runPromise(Effect.provide(program, Conversation.layerMemory)) // => [0, 1]
 * ```
 *
 * @category running
 * @since 0.2.0
 */
export const purge = (options?: PurgeOptions): Effect.Effect<number, ConversationError, Conversations> => {
  const keepFor = Duration.toMillis(durationOf("Conversation.purge", "keepFor", options?.keepFor, "90 days"))
  return Effect.flatMap(Conversations, (store) => {
    const next = (count: number): Effect.Effect<number, ConversationError> =>
      Effect.flatMap(store.purge(keepFor), (deleted) => deleted === 0 ? Effect.succeed(count) : next(count + deleted))
    return next(0)
  })
}

/**
 * A layer that runs {@link purge} at start and then repeatedly (default: each hour). Failures are logged.
 *
 * @category layers
 * @since 0.2.0
 */
export const layerPurge = (
  options?: PurgeOptions & { readonly every?: Duration.Input | undefined }
): Layer.Layer<never, never, Conversations> => layerRepeatedly("Conversations", purge(options), options?.every)

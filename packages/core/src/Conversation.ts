/**
 * Conversations: chats that remember, by owner and thread.
 *
 * A thread is a list of entries that only grows. What the model reads and what people are shown are two readings of it:
 * {@link sent} leaves failed calls out, and what a summary stands for; {@link shown} has all that was said. Marks of untrusted
 * text are stored with the messages. Every operation names the owner.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as KeyValueStore from "effect/persistence/KeyValueStore"
import * as SqlClient from "effect/sql/SqlClient"
import type * as SqlError from "effect/sql/SqlError"
import * as Duration from "effect/Duration"
import type * as Prompt from "effect/ai/Prompt"
import type { ConfigurationError } from "./ConfigurationError.ts"
import type { Agent } from "./internal/agent/agent.ts"
import { type Mode, plain } from "./internal/agent/mode.ts"
import type { Resumable } from "./internal/agent/resumable.ts"
import type { Decision } from "./internal/approval/decision.ts"
import {
  ApprovalRequired,
  type DecisionRefused,
  type Outcome,
  Paused,
  SnapshotRefused
} from "./internal/approval/outcome.ts"
import type { Snapshot } from "./internal/approval/snapshot.ts"
import type { ConversationError, ThreadNotFound } from "./internal/conversation/errors.ts"
import type { Thread } from "./internal/conversation/thread.ts"
import type { RunRecord } from "./internal/run/record.ts"
import { layerRepeatedly } from "./internal/foundation/repeatedly.ts"
import { createSql, type Dialect, prepareTable } from "./internal/foundation/sqlTable.ts"
import { memoryConversations } from "./internal/conversation/memoryStore.ts"
import { keyValueConversations } from "./internal/conversation/keyValueStore.ts"
import { Conversations, type ThreadKey } from "./internal/conversation/service.ts"
import { begin, type BeginError, type BeginOptions, type EndOptions, type Turn } from "./internal/conversation/turn.ts"
import { entryColumns, sqlConversations, threadColumns } from "./internal/conversation/sqlStore.ts"
export { ConversationError, ThreadBusy, ThreadNotFound, VersionConflict } from "./internal/conversation/errors.ts"
export { decode, encode } from "./internal/conversation/json.ts"
export {
  type AppendOptions,
  Conversations,
  type ListOptions,
  type ThreadContent,
  type ThreadKey,
  type ThreadList
} from "./internal/conversation/service.ts"
export { isCursor } from "./internal/conversation/storeParts.ts"
export { Audience, CallsForgotten, Entry, Event, Replaced, Said, Thread } from "./internal/conversation/thread.ts"
export { begin, type BeginError, type BeginOptions, type EndOptions, type Turn } from "./internal/conversation/turn.ts"
export { said, sent, shown, type ShownMessage } from "./internal/conversation/view.ts"

/**
 * Conversations in a key/value store of `effect/persistence`. For one process at a time, as key/value stores cannot compare and
 * set: use {@link layerSql} where several processes serve one owner.
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

/** Conversations in the memory of the process. */
export const layerMemory: Layer.Layer<Conversations> = Layer.sync(Conversations, memoryConversations)

const defaultTables = { threads: "recourse_threads", entries: "recourse_thread_entries" }

/** Names of the tables. Default: `recourse_threads` and `recourse_thread_entries`. May have a schema: `"chat.threads"`. */
export interface Tables {
  readonly threads: string
  readonly entries: string
}

/** The SQL that makes both tables, for migrations of your own: use it with `layerSql({ create: false })`. */
export const createTablesSql = (dialect: Dialect, options?: { readonly tables?: Tables | undefined }): string => {
  const { entries, threads } = options?.tables ?? defaultTables
  return createSql(threads, threadColumns, dialect) + createSql(entries, entryColumns, dialect)
}

/**
 * Conversations in two SQL tables, for any number of processes. For PostgreSQL, SQLite, MySQL and MariaDB.
 *
 * The tables are created if they are missing, and checked at start: tables that cannot be used are a `ConfigurationError` that
 * says how they are made. A search reads the texts of the owner's messages.
 */
export const layerSql = (
  options?: {
    readonly tables?: Tables | undefined
    /** Whether the tables are created where they are missing. Default: yes. */
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

/** How long threads are kept. */
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
 */
export const purge = (options?: PurgeOptions): Effect.Effect<number, ConversationError, Conversations> =>
  Effect.flatMap(Conversations, (store) => {
    const keepFor = Duration.toMillis(Duration.fromInputUnsafe(options?.keepFor ?? "90 days"))
    const next = (count: number): Effect.Effect<number, ConversationError> =>
      Effect.flatMap(store.purge(keepFor), (deleted) => deleted === 0 ? Effect.succeed(count) : next(count + deleted))
    return next(0)
  })

/** A layer that runs {@link purge} at once and then again and again (default: each hour). What fails is logged. */
export const layerPurge = (
  options?: PurgeOptions & { readonly every?: Duration.Input | undefined }
): Layer.Layer<never, never, Conversations> => layerRepeatedly("Conversations", purge(options), options?.every)

// --- turns of an agent ----------------------------------------------------------------------------------------------

/** How a turn of an agent ended. */
export interface Sent<out Out, out E> {
  /** How the run ended. */
  readonly exit: Exit.Exit<Out, E>
  /** What the run did; left out if it did not begin. */
  readonly record: RunRecord | undefined
  /** The thread as it was stored then. A failure: what was said is in the record, and not in the thread. */
  readonly stored: Exit.Exit<Thread, ThreadNotFound | ConversationError>
  /** The turn as it began. */
  readonly turn: Turn
}

/** The snapshot of a run that waits. */
const waiting = (exit: Exit.Exit<unknown, unknown>): Snapshot | undefined => {
  if (Exit.isSuccess(exit)) return exit.value instanceof Paused ? exit.value.snapshot : undefined
  const error = exit.cause.reasons.find(Cause.isFailReason)?.error
  return error instanceof ApprovalRequired ? error.snapshot : undefined
}

/** Runs a turn, and stores what was said however it ends: also where it is interrupted, as something may have been done. */
const inTurn = Effect.fnUntraced(function*<Out, E, R>(
  begun: BeginOptions,
  { compaction, failedCalls }: Pick<SendOptions, "compaction" | "failedCalls">,
  run: (turn: Turn, mode: Mode) => Effect.Effect<Out, E, R>
): Effect.fn.Return<Sent<Out, E>, BeginError, R | Conversations | Scope.Scope> {
  const turn = yield* begin(begun)
  let ended: (() => RunRecord) | undefined
  let stored: Sent<Out, E>["stored"] = Exit.succeed(turn.thread)
  const store = (exit: Exit.Exit<Out, E>) =>
    Effect.suspend(() => {
      if (ended === undefined) return Effect.void
      const { compacted: made, replacedInput, runId, transcript } = ended()
      const snapshot = waiting(exit)
      const compacted = compaction === "forget" ? undefined : made
      const end = turn.end({ transcript, runId, snapshot, failedCalls, compacted, replacedInput })
      return Effect.flatMap(Effect.exit(end), (exit) => {
        stored = exit
        return Exit.isSuccess(exit)
          ? Effect.void
          : Effect.logError("What was said in a turn of a chat could not be stored", exit.cause)
      })
    })
  const exit = yield* Effect.exit(Effect.onExit(run(turn, { ...plain, onRecord: (record) => ended = record }), store))
  return { exit, record: ended?.(), stored, turn }
}, Effect.scoped)

/** How a turn of an agent is run. */
export interface SendOptions extends BeginOptions {
  /** What the user says. */
  readonly message: Prompt.RawInput
  readonly failedCalls?: EndOptions["failedCalls"]
  /**
   * Whether the model of the next turn reads what the run has compacted the conversation to (`compact` of the agent). Default: `"keep"`; with `"forget"`
   * it begins with all that was said.
   */
  readonly compaction?: "keep" | "forget" | undefined
}

/**
 * One turn of a chat: appends what the user says, runs the agent on the conversation, and appends what was said. It fails only
 * if the turn could not begin; how the run ended is in `exit`. What was said is stored however the run ends.
 *
 * A run that waits for a person has `ApprovalRequired` in its `exit`: go on with {@link resume}.
 *
 * **Example** (A chat that remembers)
 *
 * ```ts
 * import { Effect, Exit } from "effect"
 * import { Prompt } from "effect/ai"
 * import { Agent, Conversation } from "@recourse/core"
 * import { ScriptedModel } from "@recourse/testing"
 *
 * const support = Agent.make("support", { input: Prompt.Prompt, prompt: (conversation) => conversation })
 * const say = (message: string) => Conversation.send(support, { owner: "ada", thread: "t1", message })
 *
 * const program = Effect.gen(function*() {
 *   yield* say("My name is Ada.")
 *   const { exit } = yield* say("What is my name?")
 *   const { prompt } = yield* (yield* ScriptedModel.ScriptedModel).lastRequest
 *   return [Exit.isSuccess(exit) && exit.value, prompt.content.length]
 * }).pipe(Effect.provide([
 *   Conversation.layerMemory,
 *   ScriptedModel.layer([ScriptedModel.text("Hello Ada."), ScriptedModel.text("Ada.")])
 * ]))
 *
 * await Effect.runPromise(program) // => ["Ada.", 3]
 * ```
 */
export const send = <Out, E, R>(
  agent: Agent<Prompt.Prompt, Out, E, R>,
  options: SendOptions
): Effect.Effect<Sent<Out, E>, BeginError, R | Conversations> =>
  inTurn(
    options,
    options,
    ({ prompt }, mode) => agent.runIn(prompt, { ...mode, runId: options.runId })
  )

/** How a run of a chat goes on. */
export interface ResumeOptions extends ThreadKey {
  readonly decisions: ReadonlyArray<Decision>
  readonly lease?: Duration.Input | undefined
  readonly failedCalls?: EndOptions["failedCalls"]
  readonly compaction?: SendOptions["compaction"]
}

/**
 * Goes on with the run of a thread that waits for a person: `agent.resume` with the snapshot that the thread holds. Where no run
 * waits, and where the decisions are refused, nothing is run and the thread stays as it is.
 */
export const resume = <Out, E, R, Resume>(
  agent: Resumable<Prompt.Prompt, Out, E, R, Resume> & { readonly name: string },
  options: ResumeOptions
): Effect.Effect<
  Sent<Outcome<Out>, E | SnapshotRefused | DecisionRefused>,
  BeginError,
  R | Resume | Conversations
> =>
  inTurn(
    { owner: options.owner, thread: options.thread, lease: options.lease },
    options,
    (
      { snapshot },
      mode
    ): Effect.Effect<Outcome<Out>, E | SnapshotRefused | DecisionRefused, R | Resume> =>
      snapshot === undefined
        ? Effect.fail(new SnapshotRefused({ agent: agent.name, reason: "used" }))
        : agent.proceed({ snapshot, decisions: options.decisions }, { ...mode, mayPause: true })
  )

/** Threads and their entries: a conversation as data. */
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import * as SchemaGetter from "effect/SchemaGetter"

const thread = Schema.Struct({
  /** The thread's id, its owner's own: two owners may have a thread of the same id. */
  id: Schema.String,
  owner: Schema.String,
  title: Schema.optionalKey(Schema.String),
  /** Number of its entries. Only an append increases it. */
  version: Schema.Int,
  createdAt: Schema.Finite,
  /** When something was appended last, or the title was changed. */
  updatedAt: Schema.Finite,
  /** True if a run has claimed the thread: another one that starts a turn meanwhile is `ThreadBusy`. */
  isRunning: Schema.Boolean,
  /** True if a run waits for a person: its snapshot is in the answer of `read`. */
  isWaiting: Schema.Boolean
})

type ThreadSchemaType = typeof thread

/**
 * Schema of the state of a thread.
 *
 * @category models
 * @since 0.2.0
 */
export interface ThreadSchema extends ThreadSchemaType {}

/**
 * A thread: one conversation of one owner. Times are milliseconds since the epoch, by the store's clock.
 *
 * @category schemas
 * @since 0.2.0
 */
export const Thread: ThreadSchema = thread

/**
 * A thread: one conversation of one owner.
 *
 * @category models
 * @since 0.2.0
 */
export type Thread = typeof Thread.Type

/**
 * Readers of a message: everyone, only the model (instructions, summaries), or only people (notices, interrupted
 * answers).
 *
 * @category schemas
 * @since 0.2.0
 */
export const Audience = Schema.Literals(["everyone", "model", "people"])

/**
 * Readers of a message.
 *
 * @category models
 * @since 0.2.0
 */
export type Audience = typeof Audience.Type

/**
 * A message was added. It is the JSON of a message of `Prompt`, with all its options, which include marks.
 *
 * @category schemas
 * @since 0.2.0
 */
export const MessageAdded = Schema.TaggedStruct("MessageAdded", { audience: Audience, message: Schema.Json })

/**
 * The model reads these calls and their results no more; people still do.
 *
 * @category schemas
 * @since 0.2.0
 */
export const ToolCallsPruned = Schema.TaggedStruct("ToolCallsPruned", { calls: Schema.Array(Schema.String) })

/**
 * The model reads these messages (a summary, for example) in place of all that was said up to a position; people read all.
 *
 * @category schemas
 * @since 0.2.0
 */
export const HistoryCompacted = Schema.TaggedStruct("HistoryCompacted", {
  through: Schema.Int,
  by: Schema.Array(Schema.Json)
})

/**
 * A call that may write has started, and its run is not over: appended before the executor runs, so that a turn whose process dies leaves it.
 * The entry's `runId` is the run.
 *
 * @category schemas
 * @since 0.2.0
 */
export const WriteStarted = Schema.TaggedStruct("WriteStarted", {
  /** The version of this entry's format. */
  version: Schema.Literal(1),
  /** The id of the model's call that the write is part of: its own, or that of the agent or the tool that made it. */
  callId: Schema.String,
  /** The path of the write within its run: unique for each call of each tool. */
  write: Schema.String,
  /** The tool that writes. */
  tool: Schema.String,
  /** Names of the agents from the outermost to the one that made the call. */
  path: Schema.Array(Schema.String),
  /** SHA-256 of the arguments as JSON with sorted keys, in hex. */
  argumentsHash: Schema.String,
  /** The message with the model's call, in JSON. Absent if an earlier entry of the same call has it. */
  message: Schema.optionalKey(Schema.Json)
})

/**
 * A write has ended, or the next turn has found that it did not: then its outcome is `unknown`.
 *
 * `completed`: its tool answered. `not_done`: it is known to have had no effect. `unknown`: it may have happened.
 *
 * @category schemas
 * @since 0.2.0
 */
export const WriteEnded = Schema.TaggedStruct("WriteEnded", {
  /** The version of this entry's format. */
  version: Schema.Literal(1),
  callId: Schema.String,
  /** The path of the write. Left out: all writes of the call. */
  write: Schema.optionalKey(Schema.String),
  outcome: Schema.Literals(["completed", "not_done", "unknown"]),
  /** The message with the model's result of the call, in JSON. Absent: the call has not ended. */
  result: Schema.optionalKey(Schema.Json)
})

/**
 * The turn of these runs has ended: their writes are in the messages behind this entry, or in the snapshot of a paused
 * run.
 *
 * @category schemas
 * @since 0.2.0
 */
export const TurnEnded = Schema.TaggedStruct("TurnEnded", {
  /** The version of this entry's format. */
  version: Schema.Literal(1),
  runs: Schema.Array(Schema.String)
})

const event = Schema.Union([
  MessageAdded,
  ToolCallsPruned,
  HistoryCompacted,
  WriteStarted,
  WriteEnded,
  TurnEnded
])

type EventSchemaType = typeof event

/**
 * Schema of an entry that can be appended to a thread.
 *
 * @category models
 * @since 0.2.0
 */
export interface EventSchema extends EventSchemaType {}

/**
 * Entry that can be appended to a thread.
 *
 * @category schemas
 * @since 0.2.0
 */
export const Event: EventSchema = event

/**
 * Entry that can be appended to a thread.
 *
 * @category models
 * @since 0.2.0
 */
export type Event = typeof Event.Type

/** Tags that events had in version 0.1, with their names of today. */
const formerTags = new Map([
  ["Said", "MessageAdded"],
  ["CallsForgotten", "ToolCallsPruned"],
  ["Replaced", "HistoryCompacted"]
])

const withTagOfToday = (stored: Schema.Json): Schema.Json => {
  if (!Predicate.hasProperty(stored, "_tag") || !Predicate.isString(stored._tag)) return stored
  const _tag = formerTags.get(stored._tag)
  return _tag === undefined ? stored : Object.assign({}, stored, { _tag }) as Schema.Json
}

/** Codec of a stored event: reads the tags of version 0.1 too, and writes those of today. */
export const StoredEvent: Schema.Codec<Event, Schema.Json> = Schema.Json.pipe(Schema.decodeTo(Event, {
  decode: SchemaGetter.transform((stored) => withTagOfToday(stored) as typeof Event.Encoded),
  encode: SchemaGetter.transform((event) => event as Schema.Json)
}))

const entry = Schema.Struct({
  /** 1 is the first; the thread's version is the last. */
  position: Schema.Int,
  /** Milliseconds since the epoch, by the store's clock. */
  at: Schema.Finite,
  /** The run that has said it, or that answers it. */
  runId: Schema.optionalKey(Schema.String),
  event: StoredEvent
})

type EntrySchemaType = typeof entry

/**
 * Schema of an entry of a thread.
 *
 * @category models
 * @since 0.2.0
 */
export interface EntrySchema extends EntrySchemaType {}

/**
 * One entry of a thread. Entries are appended and never changed.
 *
 * @category schemas
 * @since 0.2.0
 */
export const Entry: EntrySchema = entry

/**
 * One entry of a thread.
 *
 * @category models
 * @since 0.2.0
 */
export type Entry = typeof Entry.Type

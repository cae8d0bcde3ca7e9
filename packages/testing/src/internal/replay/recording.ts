/** Recordings: a recorded run, as a schema and as JSON. */
import { type Effect, Schema } from "effect"
import { AiError } from "effect/ai"
import { AgentEvent, Approval } from "@recourse/core"

/** What a model call came to. */
const ModelOutcome = Schema.Union([
  Schema.TaggedStruct("Parts", { parts: Schema.Array(Schema.Unknown), error: Schema.optionalKey(AiError.AiError) }),
  Schema.TaggedStruct("Failed", { error: AiError.AiError }),
  Schema.TaggedStruct("Unfinished", {})
])

/** What an execution of a tool came to. */
const ToolOutcome = Schema.Union([
  Schema.TaggedStruct("Value", { value: Schema.Unknown, encoded: Schema.Boolean }),
  Schema.TaggedStruct("Failed", { error: Schema.Unknown }),
  Schema.TaggedStruct("Died", { defect: Schema.String }),
  Schema.TaggedStruct("Unfinished", {}),
  /** It was interrupted, or interrupted itself. */
  Schema.TaggedStruct("Interrupted", {}),
  /** It answered what does not fit the tool's `success` schema, and nobody knows what. */
  Schema.TaggedStruct("Misfit", {}),
  /**
   * An agent ran in it, or it called a tool: it is run again, against what models and tools answered within. `value` is what it answered
   * itself, where that fitted the tool's `success` schema.
   */
  Schema.TaggedStruct("Nested", { value: Schema.optionalKey(Schema.Unknown) })
])

/** A call of the model: what it was sent, when and how long it took in milliseconds, and what it answered. */
export const ModelCall = Schema.Struct({
  /** The messages, as text. */
  request: Schema.String,
  duration: Schema.Number,
  outcome: ModelOutcome
})

/** An execution of a tool. */
export const Execution = Schema.Struct({
  tool: Schema.String,
  callId: Schema.String,
  attempt: Schema.Int,
  duration: Schema.Number,
  outcome: ToolOutcome
})

/** The version of recordings that this library writes; it reads earlier ones. */
export const version = 2

/** A time at which the run waited: what was decided, and how many milliseconds that took. */
export const Pause = Schema.Struct({ decisions: Schema.Array(Approval.Decision), waited: Schema.Number })

/** A recorded run. */
export const Recording = Schema.Struct({
  /** Left out by the first version, which has no pauses. A later version than this library's is refused. */
  version: Schema.optionalKey(Schema.Literals([1, version])),
  agent: Schema.String,
  input: Schema.Unknown,
  streaming: Schema.Boolean,
  events: Schema.Array(AgentEvent.AgentEvent),
  modelCalls: Schema.Array(ModelCall),
  executions: Schema.Array(Execution),
  pauses: Schema.optionalKey(Schema.Array(Pause))
})

/** A recorded run. */
export type Recording = typeof Recording.Type

const Json = Schema.fromJsonString(Schema.toCodecJson(Recording))

/** A recording as JSON. */
export const stringify: (recording: Recording) => Effect.Effect<string, Schema.SchemaError> = Schema.encodeEffect(Json)

/** A recording from JSON. */
export const parse: (json: string) => Effect.Effect<Recording, Schema.SchemaError> = Schema.decodeEffect(Json)

/** A type that can be written to while a run is recorded. */
export type Writable<T> = { -readonly [K in keyof T]: T[K] }

/** Recordings: the schema and the JSON of a recorded run. */
import { type Effect, Schema } from "effect"
import { AiError } from "effect/ai"
import { AgentEvent, Approval } from "@recourse/core"

/** Outcome of a model call. */
const ModelOutcome = Schema.Union([
  Schema.TaggedStruct("Parts", { parts: Schema.Array(Schema.Unknown), error: Schema.optionalKey(AiError.AiError) }),
  Schema.TaggedStruct("Failed", { error: AiError.AiError }),
  Schema.TaggedStruct("Unfinished", {})
])

/** Outcome of a tool's execution. */
const ToolOutcome = Schema.Union([
  Schema.TaggedStruct("Value", { value: Schema.Unknown, encoded: Schema.Boolean }),
  Schema.TaggedStruct("Failed", { error: Schema.Unknown }),
  Schema.TaggedStruct("Died", { defect: Schema.String }),
  Schema.TaggedStruct("Unfinished", {}),
  /** It was interrupted, or interrupted itself. */
  Schema.TaggedStruct("Interrupted", {}),
  /** Its answer did not fit the tool's `success` schema, and is unknown. */
  Schema.TaggedStruct("Misfit", {}),
  /**
   * An agent ran in it, or it called a tool: it is run again, against the inner answers of models and tools. `value` is
   * its own answer, if that fitted the tool's `success` schema.
   */
  Schema.TaggedStruct("Nested", { value: Schema.optionalKey(Schema.Unknown) })
])

/**
 * A call of the model: its request, its time and duration in milliseconds, and its answer.
 *
 * @category schemas
 * @since 0.2.0
 */
export const ModelCall = Schema.Struct({
  /** The messages in text form. */
  request: Schema.String,
  duration: Schema.Number,
  outcome: ModelOutcome
})

/**
 * An execution of a tool.
 *
 * @category schemas
 * @since 0.2.0
 */
export const Execution = Schema.Struct({
  tool: Schema.String,
  callId: Schema.String,
  attempt: Schema.Int,
  duration: Schema.Number,
  outcome: ToolOutcome
})

/**
 * The version of recordings that this library writes; it reads earlier ones.
 *
 * @category constants
 * @since 0.2.0
 */
export const version = 2

/**
 * A pause of the run: the decisions, and their time in milliseconds.
 *
 * @category schemas
 * @since 0.2.0
 */
export const Pause = Schema.Struct({ decisions: Schema.Array(Approval.Decision), waited: Schema.Number })

/**
 * A recorded run.
 *
 * @category schemas
 * @since 0.2.0
 */
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

/**
 * A recorded run.
 *
 * @category models
 * @since 0.2.0
 */
export type Recording = typeof Recording.Type

const Json = Schema.fromJsonString(Schema.toCodecJson(Recording))

/**
 * A recording as JSON.
 *
 * @category encoding
 * @since 0.2.0
 */
export const stringify: (recording: Recording) => Effect.Effect<string, Schema.SchemaError> = Schema.encodeEffect(Json)

/**
 * A recording from JSON.
 *
 * @category decoding
 * @since 0.2.0
 */
export const parse: (json: string) => Effect.Effect<Recording, Schema.SchemaError> = Schema.decodeEffect(Json)

/** A type that can be written to while a run is recorded. */
export type Writable<T> = { -readonly [K in keyof T]: T[K] }

/**
 * Tool definitions in a snapshot: the facts that an approval relies on. A snapshot is bound to the tools that it is
 * about: those with pending calls, started calls, or waiting agents. Other tools may change; their hashes serve
 * explanations only.
 */
import * as Schema from "effect/Schema"

/** Facts of a tool that a snapshot is bound to. Descriptions and schemas are SHA-256 hashes. */
export const Definition = Schema.Struct({
  name: Schema.String,
  effects: Schema.optionalKey(Schema.String),
  trust: Schema.String,
  description: Schema.String,
  parameters: Schema.String
})

/** Facts of a tool that a snapshot is bound to. */
export type Definition = typeof Definition.Type

const definitions = Schema.Struct({
  /** The tools that the snapshot is about. */
  pending: Schema.Array(Definition),
  /** The other tools of the run, each with a short hash of its definition. */
  others: Schema.Array(Schema.Struct({ name: Schema.String, hash: Schema.String })),
  /** Of an agent that is made of agents: the names of these, in order. */
  agents: Schema.optionalKey(Schema.Array(Schema.String))
})

type DefinitionsSchemaType = typeof definitions

/**
 * Schema of the tools of a run at its pause.
 *
 * @category models
 * @since 0.2.0
 */
export interface DefinitionsSchema extends DefinitionsSchemaType {}

/**
 * The tools of a run at its pause.
 *
 * @category schemas
 * @since 0.2.0
 */
export const Definitions: DefinitionsSchema = definitions

/**
 * The tools of a run at its pause.
 *
 * @category models
 * @since 0.2.0
 */
export type Definitions = typeof Definitions.Type

/** Possible differences of a tool. `agent`: it is no longer an agent that can wait. */
const Aspect = Schema.Literals(["description", "parameters", "effects", "trust", "agent"])

/**
 * A part of an agent as a snapshot finds it: a tool, a skill, or an agent that it is made of.
 *
 * @category schemas
 * @since 0.2.0
 */
export const PartState = Schema.Struct({
  /** The agent whose part it is. */
  agent: Schema.String,
  /** The id of the call or step within which that agent waits; left out for the agent of the snapshot itself. */
  within: Schema.optionalKey(Schema.String),
  part: Schema.Literals(["tool", "skill", "agent"]),
  name: Schema.String,
  /**
   * `waiting`: a person decides about a call of it. `nested`: an agent waits within a call of it. `started`: it has started and has not
   * ended. `irrelevant`: the snapshot is not about it.
   */
  role: Schema.Literals(["waiting", "nested", "started", "irrelevant"]),
  /** `unknown`: the snapshot is of an earlier version, which has one hash of all tools. */
  state: Schema.Literals(["equal", "changed", "missing", "added", "unknown"]),
  /** Differences of a tool that the snapshot is about; empty for others. */
  differs: Schema.Array(Aspect)
})

/**
 * A part of an agent as a snapshot finds it.
 *
 * @category models
 * @since 0.2.0
 */
export interface PartState extends Schema.Schema.Type<typeof PartState> {}

const explanation = Schema.Struct({
  agent: Schema.String,
  /**
   * True if each of its calls can be decided about and resumed. An earlier resumption of the snapshot is not checked.
   */
  canResume: Schema.Boolean,
  /** Why it cannot be resumed: a reason of `SnapshotRefused`, and its message. */
  refused: Schema.optionalKey(Schema.Struct({ reason: Schema.String, message: Schema.String })),
  /** The tools of the run, its skill, and the agents that it is made of; those of agents that wait within it, too. */
  parts: Schema.Array(PartState)
})

type ExplanationSchemaType = typeof explanation

/**
 * Schema of the explanation of a snapshot.
 *
 * @category models
 * @since 0.2.0
 */
export interface ExplanationSchema extends ExplanationSchemaType {}

/**
 * Ability of an agent to resume a snapshot, and the differences.
 *
 * @category schemas
 * @since 0.2.0
 */
export const Explanation: ExplanationSchema = explanation

/**
 * Ability of an agent to resume a snapshot, and the differences.
 *
 * @category models
 * @since 0.2.0
 */
export interface Explanation extends Schema.Schema.Type<typeof Explanation> {}

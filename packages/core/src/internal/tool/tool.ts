/** The tool interface, and the types that are read off a tool. */
import type * as Effect from "effect/Effect"
import type * as Pipeable from "effect/Pipeable"
import * as Predicate from "effect/Predicate"
import type * as Schema from "effect/Schema"
import type * as Prompt from "effect/ai/Prompt"
import type * as AiTool from "effect/ai/Tool"
import type { Effects } from "../../Policy.ts"
import type { InvalidArgs, InvalidResult, NotApproved } from "../../ToolError.ts"
import type { Explanation } from "../approval/definitions.ts"
import type { Decision } from "../approval/decision.ts"
import type { DecisionRefused, SnapshotRefused } from "../approval/outcome.ts"
import type { Snapshot } from "../approval/snapshot.ts"
import type { Call, ToolCall } from "../call/call.ts"
import type { ToolInfo } from "../call/tool/toolInfo.ts"
import type { Over } from "../run/run.ts"

/**
 * The brand of tools.
 *
 * @category type IDs
 * @since 0.2.0
 */
export const TypeId = "~@recourse/core/Tool" as const

/**
 * A tool: its description for the model, and the Effect of one call.
 *
 * @category models
 * @since 0.2.0
 */
export interface Tool<
  out Name extends string,
  out Parameters extends Schema.Top,
  out Success extends Schema.Top,
  out E,
  out R
> extends Pipeable.Pipeable {
  readonly [TypeId]: typeof TypeId
  readonly name: Name
  readonly description: string | undefined
  readonly parameters: Parameters
  readonly success: Success
  readonly effects: Effects | undefined
  readonly trust: Trust
  /** Unchecked parts of the arguments, as JSON pointers into the JSON Schema of the tool: see `Tool.fromJsonSchema`. */
  readonly unchecked: ReadonlyArray<string>
  /** The definition in terms of `effect/ai`, for providers, MCP servers and JSON Schema. */
  readonly definition: AiTool.Any
  /** One call: attempts, the tool's own recovery, and the check of the result, in this order. */
  readonly call: Effect.Effect<Success["Type"], E, ToolCall | R>
  /** @internal The call with its own recovery, before its result is checked. */
  readonly recovered: Effect.Effect<unknown, unknown, unknown>
  /** @internal */
  readonly info: ToolInfo
  /** @internal Set if the tool is an agent that may wait: checks if it can resume a snapshot with the decisions. */
  readonly resumes?: Resumes | undefined
  /** @internal Set if the tool is an agent that may wait: explains a snapshot of it. */
  readonly explains?: ((snapshot: unknown) => Effect.Effect<Explanation, never, unknown>) | undefined
  /** @internal Set if the tool is an agent whose own tools declare that it may wait. */
  readonly runsAgentWithApprovals?: boolean | undefined
  /** @internal Set if the tool is an agent that may wait: ends a paused run of it. */
  readonly ends?: Ends | undefined
  /** @internal Set if the tool is an agent that may wait: true if its end compensates a write. */
  readonly shouldCompensate?: ShouldCompensate | undefined
  /** @internal Set if the tool is an agent: the tools of that agent. */
  readonly ownTools?: (() => ReadonlyArray<Own>) | undefined
  /** @internal The status tool of this one's tasks, under the same recovery. */
  readonly status: Any | undefined
}

/** @internal A tool, and the agent whose model calls it; no agent, if the tool has another origin. */
export interface Own {
  readonly agent: string | undefined
  /** The skill of the tool; absent, if it belongs to every skill. */
  readonly skill?: string | undefined
  readonly tool: Any
}

/** @internal Fails if a snapshot or decisions about it cannot be used. Runs no call. */
export type Resumes = (
  snapshot: unknown,
  decisions: ReadonlyArray<Decision>
) => Effect.Effect<unknown, SnapshotRefused | DecisionRefused, unknown>

/** @internal Ends an abandoned paused run: its completed writes are compensated, if due. */
export type Ends = (snapshot: unknown, over: Over) => Effect.Effect<void, never, unknown>

/** @internal True if that compensates a write. `isLeft`: true if a write is not compensated yet. */
export type ShouldCompensate = (snapshot: Snapshot, isLeft: (id: string) => boolean) => boolean

/**
 * Any tool.
 *
 * **Example** (The names of some tools)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Tool } from "@recourse/core"
 *
 * const Now = Tool.make("now", {
 *   parameters: Schema.Struct({}),
 *   success: Schema.String,
 *   effects: "read",
 *   execute: () => Effect.succeed("noon")
 * })
 * const names = (tools: ReadonlyArray<Tool.Any>): ReadonlyArray<string> => tools.map(({ name }) => name)
 *
 * names([Now]) // => ["now"]
 * ```
 *
 * @category models
 * @since 0.2.0
 */
export interface Any extends Tool<string, Schema.Top, Schema.Top, unknown, unknown> {}

/**
 * Tools. No value has the property: it is a sentence, which the compiler shows for a value that is no tool.
 *
 * @category models
 * @since 0.2.0
 */
export type List = ReadonlyArray<
  Any & { readonly "A tool is made by Tool.make, and of an agent by Agent.asTool"?: never }
>

/**
 * The errors that a tool leaves.
 *
 * @category utility types
 * @since 0.2.0
 */
export type Error<T> = T extends Tool<infer _N, infer _P, infer _S, infer E, infer _R> ? E : never

/**
 * The services that a tool needs, its `ToolCall` apart.
 *
 * @category utility types
 * @since 0.2.0
 */
export type Services<T> = T extends Tool<infer _N, infer _P, infer _S, infer _E, infer R> ? R : never

/**
 * Result type of a tool.
 *
 * @category utility types
 * @since 0.2.0
 */
export type Success<T> = T extends Tool<infer _N, infer _P, infer S, infer _E, infer _R> ? S["Type"] : never

/**
 * Errors behind recovery: results are checked behind it, and calls that wait for an approval bypass it.
 *
 * @category models
 * @since 0.2.0
 */
export type BehindRecovery = InvalidResult | NotApproved

/**
 * The call for a tool's recovery; for one of several tools, that of any of them.
 *
 * @category utility types
 * @since 0.2.0
 */
export type CallOf<T> = {
  readonly call: Effect.Effect<Success<T>, Exclude<Error<T>, BehindRecovery>, ToolCall | Services<T>>
}["call"]

/**
 * The arguments of a call that were used last, decoded.
 *
 * @category models
 * @since 0.2.0
 */
export type Params<Parameters extends Schema.Top> = Effect.Effect<
  Parameters["Type"],
  InvalidArgs,
  ToolCall | Parameters["DecodingServices"]
>

/**
 * The arguments for a tool's recovery, in addition to its call.
 *
 * @category utility types
 * @since 0.2.0
 */
export type ParamsOf<T> = T extends Tool<infer _N, infer P, infer _S, infer _E, infer _R> ? Params<P> : never

/**
 * Trust in a tool's results: `"untrusted"` results reach models in an envelope.
 *
 * @category models
 * @since 0.2.0
 */
export type Trust = "trusted" | "untrusted"

/**
 * True if a value is a tool.
 *
 * @category guards
 * @since 0.2.0
 */
export const isTool = (u: unknown): u is Any => Predicate.hasProperty(u, TypeId)

/**
 * A checked result: the value, and its form for the model.
 *
 * @category models
 * @since 0.2.0
 */
export interface Checked<A> {
  readonly value: A
  readonly encoded: unknown
  /** The parts that the model is given in its place. */
  readonly modelOutput?: ReadonlyArray<Prompt.ToolModelOutputPart> | undefined
}

/** @internal Checks the answer of a call. Fails with errors that recovery does not see. */
export type Check = (call: Call, value: unknown) => Effect.Effect<Checked<unknown>, unknown, unknown>

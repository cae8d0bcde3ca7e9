/** The `ToolCall` service: the call that a tool runs for. */
import * as Context from "effect/Context"
import { toText } from "./arguments/toolArguments.ts"
import type { Idempotency } from "../idempotency/idempotencyOptions.ts"
import { type CallRecord, type Gate, newRecord, rootOf } from "./record/record.ts"
import type { Approval, Continuation } from "./record/admission.ts"
import type { MadeCalls } from "./record/children.ts"
import type { ToolInfo } from "./tool/toolInfo.ts"
import { ExecutionError } from "../../ToolError.ts"
import { isTransient } from "../projection/declaration.ts"

/**
 * A tool call.
 *
 * @category models
 * @since 0.2.0
 */
export interface Call {
  /** Id of the call, as the model gave it. */
  readonly id: string
  /** The arguments as they came: the text of a JSON object, or the object. Not checked yet. */
  readonly arguments: unknown
  /** Number of the running attempt, from 1; recovery around the attempts sees 1. */
  readonly attempt: number
  /** Whose recovery is running: the tool's own, or the agent's. Tools with undeclared `effects` are repeated by their own only. */
  readonly level: "tool" | "agent"
  /**
   * The key of an idempotent call, the same for every attempt of it. Pass it on to the called service, for example as
   * the `Idempotency-Key` header. Present while the executor runs.
   */
  readonly idempotencyKey?: string | undefined
  /** @internal Separates calls with the same id outside of runs. */
  readonly scope?: string | undefined
  /** @internal Identifies a call made by a tool among all others, if its id does not. */
  readonly identity?: string | undefined
  /** @internal Set by `Recovery.idempotent`. */
  readonly idempotency?: Idempotency | undefined
  /** @internal Set if no attempt may run: each ends like the last one. */
  readonly closed?: boolean | undefined
  /** @internal Set if the circuit is open: the ledger may answer, and no call is executed. */
  readonly lookupOnly?: boolean | undefined
  /**
   * @internal Calls made by its first attempt, and by the recovery around its attempts. Those of a parallel call are
   * separate.
   */
  readonly made?: MadeCalls | undefined
  /** @internal */
  readonly record: CallRecord
}

/**
 * The call that a tool is running for.
 *
 * **Example** (The id of the running call)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Tool, ToolCall } from "@recourse/core"
 *
 * const Id = Tool.make("id", {
 *   parameters: Schema.Struct({}),
 *   success: Schema.String,
 *   effects: "read",
 *   execute: () => Effect.map(ToolCall.ToolCall, ({ id }) => id)
 * })
 *
 * await Effect.runPromise(Id.call.pipe(Effect.provideService(ToolCall.ToolCall, ToolCall.make({ id: "c1", arguments: {} })))) // => "c1"
 * ```
 *
 * @category services
 * @since 0.2.0
 */
export class ToolCall extends Context.Service<ToolCall, Call>()("@recourse/core/ToolCall") {}

/**
 * A call that was not made by a model, for running a tool by hand. Two calls with the same id are the same call to an
 * `IdempotencyLedger`, unless they run within agents.
 *
 * **Example** (Running a tool without an agent)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Tool, ToolCall } from "@recourse/core"
 *
 * const Double = Tool.make("double", {
 *   parameters: Schema.Struct({ n: Schema.Number }),
 *   success: Schema.Number,
 *   execute: ({ n }) => Effect.succeed(n * 2)
 * })
 *
 * await Effect.runPromise(
 *   Double.call.pipe(Effect.provideService(ToolCall.ToolCall, ToolCall.make({ id: "c1", arguments: { n: 21 } })))
 * ) // => 42
 * ```
 *
 * @category constructors
 * @since 0.2.0
 */
export const make = (options: { readonly id: string; readonly arguments: unknown }): Call => ({
  id: options.id,
  arguments: options.arguments,
  attempt: 1,
  level: "tool",
  record: newRecord(options.id)
})

/** @internal A call that an agent's model made. */
export const forAgent = (options: {
  readonly id: string
  readonly arguments: unknown
  readonly level: Call["level"]
  readonly gate: Gate
  readonly approved: string | undefined
  readonly tool?: ToolInfo | undefined
  readonly waitsFor?: ToolInfo | undefined
  readonly continuation?: Continuation | undefined
  readonly approvals?: ReadonlyArray<Approval> | undefined
  readonly around?: CallRecord | undefined
}): Call => ({
  id: options.id,
  arguments: options.arguments,
  attempt: 1,
  level: options.level,
  record: newRecord(options.id, options)
})

/** True if a call is a write that has started, may have happened, and was not compensated. */
export const hasWritten = ({ outcome: { happened, isCompensated }, attempts: { tool } }: CallRecord): boolean =>
  happened !== "no" && !isCompensated && (tool === undefined || tool.effects === "write" || tool.passesKey)

/** True if an inner agent has written: another attempt would start that agent from its first request. */
const hasWrittenInAgent = (record: CallRecord): boolean => {
  const { children: { within } } = record
  if (within === undefined) return false
  const root = rootOf(record)
  return [...within].some((call) => rootOf(call) !== root && hasWritten(call))
}

/** True if all executions are known to have had no effect, and the tool declares the last failure as transient. */
const hasPassingFailure = ({ outcome: { happened, lastError } }: CallRecord): boolean =>
  happened === "no" && lastError instanceof ExecutionError && lastError.declared?.outcome === "not_done" &&
  isTransient(lastError.declared)

/**
 * Returns whether the executor may run again after it has run. False if an agent within the call has written. True if
 * the tool passes an idempotency key on, or declares that the failure had no effect and is transient. Otherwise it
 * depends on the tool's `effects`, and on the level of the recovery that repeats it.
 *
 * @category predicates
 * @since 0.2.0
 */
export const mayRunAgain = (call: Call): boolean => {
  if (!call.record.outcome.executed) return true
  if (hasWrittenInAgent(call.record)) return false
  const { effects, passesKey } = call.record.attempts.tool!
  if (passesKey || hasPassingFailure(call.record)) return true
  return effects === "read" || effects === "idempotent" || (effects === undefined && call.level === "tool")
}

/**
 * The arguments of a call as text.
 *
 * @category formatting
 * @since 0.2.0
 */
export const argumentsText = (call: Call): string => toText(call.arguments)

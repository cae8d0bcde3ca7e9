/**
 * The call that a tool is running for, as a service: run a tool again with another `ToolCall` and it runs with other
 * arguments.
 */
import { Context, Effect } from "effect"
import { toText } from "./internal/arguments.ts"
import * as CallRecord from "./internal/callRecord.ts"
import { Escalation, type Severity } from "./ToolError.ts"

/** What is known about a tool call. */
export interface Call {
  /** Id of the call, as the model gave it. */
  readonly id: string
  /** The arguments as they came: the text of a JSON object, or the object. Not checked yet. */
  readonly arguments: unknown
  /** Number of the attempt that is running; 1 is the first, 0 before any. */
  readonly attempt: number
  /** Whose recovery is running: the tool's own, or the agent's. Tools with undeclared `effects` are repeated by their own only. */
  readonly level: "tool" | "agent"
  /** @internal */
  readonly record: CallRecord.CallRecord
}

/** The call that a tool is running for. */
export class ToolCall extends Context.Service<ToolCall, Call>()("recourse/ToolCall") {}

/**
 * A call that was not made by a model, for running a tool by hand.
 *
 * **Example** (Running a tool without an agent)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Tool, ToolCall } from "recourse"
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
 */
export const make = (options: { readonly id: string; readonly arguments: unknown }): Call => ({
  id: options.id,
  arguments: options.arguments,
  attempt: 0,
  level: "tool",
  record: CallRecord.make(options.id)
})

/** @internal A call that an agent's model made. */
export const forAgent = (options: {
  readonly id: string
  readonly arguments: unknown
  readonly gate: CallRecord.Gate
}): Call => ({ ...make(options), record: CallRecord.make(options.id, options.gate) })

/** Whether the executor may run again after it has run: as the tool's `effects` say, and who asks. */
export const mayRunAgain = (call: Call): boolean => {
  if (!call.record.executed) return true
  const effects = call.record.tool?.effects
  return effects === "read" || effects === "idempotent" || (effects === undefined && call.level === "tool")
}

/**
 * Fails softly from within a tool: the model is given the reason and the run goes on.
 *
 * **Example** (A tool that tells the model what to do instead)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Tool, ToolCall } from "recourse"
 *
 * const Price = Tool.make("price", {
 *   parameters: Schema.Struct({ sku: Schema.String }),
 *   success: Schema.Number,
 *   execute: ({ sku }) =>
 *     sku.startsWith("A-") ? Effect.succeed(3) : ToolCall.escalate({ reason: "Article numbers start with A-" })
 * })
 *
 * await Effect.runPromise(
 *   Price.call.pipe(
 *     Effect.provideService(ToolCall.ToolCall, ToolCall.make({ id: "c1", arguments: { sku: "17" } })),
 *     Effect.catchTag("Escalation", (escalation) => Effect.succeed(escalation.reason))
 *   )
 * ) // => "Article numbers start with A-"
 * ```
 */
export const escalate = (options: {
  readonly reason: string
  readonly code?: string | undefined
  readonly severity?: Severity | undefined
}): Effect.Effect<never, Escalation, ToolCall> =>
  Effect.flatMap(ToolCall, (call) => Effect.fail(escalation(call, options)))

/** The escalation of a call. */
export const escalation = (call: Call, options: {
  readonly reason: string
  readonly code?: string | undefined
  readonly severity?: Severity | undefined
  readonly error?: unknown
}): Escalation =>
  new Escalation({
    tool: call.record.tool?.name ?? "",
    callId: call.id,
    attempt: call.record.attempts,
    causes: [...call.record.causes],
    code: options.code ?? "escalated",
    reason: options.reason,
    severity: options.severity ?? "medium",
    ...(options.error === undefined ? undefined : { error: options.error })
  })

/** The arguments of a call as text. */
export const argumentsText = (call: Call): string => toText(call.arguments)

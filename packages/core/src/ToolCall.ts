/**
 * The call that a tool is running for, as a service: run a tool again with another `ToolCall` and it runs with other
 * arguments.
 */
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { toText } from "./internal/call/arguments.ts"
import * as CallRecord from "./internal/call/record.ts"
import type { Idempotency } from "./internal/call/oncePerKey.ts"
import { stackless } from "./internal/foundation/stacklessError.ts"
import { Escalation, type FailedItem, PartialSuccess, Pending, type Severity } from "./ToolError.ts"

/** What is known about a tool call. */
export interface Call {
  /** Id of the call, as the model gave it. */
  readonly id: string
  /** The arguments as they came: the text of a JSON object, or the object. Not checked yet. */
  readonly arguments: unknown
  /** Number of the attempt that is running; 1 is the first, and what recovery around the attempts sees. */
  readonly attempt: number
  /** Whose recovery is running: the tool's own, or the agent's. Tools with undeclared `effects` are repeated by their own only. */
  readonly level: "tool" | "agent"
  /**
   * The key of an idempotent call, the same for every attempt of it: to be passed on to the service that is called, as the
   * `Idempotency-Key` header for example. Present while the executor runs.
   */
  readonly idempotencyKey?: string | undefined
  /** @internal Tells calls with the same id apart where there is no run. */
  readonly scope?: string | undefined
  /** @internal Set by `Recovery.idempotent`. */
  readonly idempotency?: Idempotency | undefined
  /** @internal Set where the circuit is open: the ledger may answer, and nothing is executed. */
  readonly lookupOnly?: boolean | undefined
  /** @internal */
  readonly record: CallRecord.CallRecord
}

/** The call that a tool is running for. */
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
 */
export const make = (options: { readonly id: string; readonly arguments: unknown }): Call => ({
  id: options.id,
  arguments: options.arguments,
  attempt: 1,
  level: "tool",
  record: CallRecord.make(options.id)
})

/** @internal A call that an agent's model made. */
export const forAgent = (options: {
  readonly id: string
  readonly arguments: unknown
  readonly level: Call["level"]
  readonly gate: CallRecord.Gate
  readonly approved: string | undefined
  readonly waitsFor?: CallRecord.ToolInfo | undefined
  readonly goingOn?: CallRecord.GoingOn | undefined
}): Call => ({
  id: options.id,
  arguments: options.arguments,
  attempt: 1,
  level: options.level,
  record: CallRecord.make(options.id, options)
})

/**
 * Whether the executor may run again after it has run: as the tool's `effects` say, and who asks; always where it passes
 * an idempotency key on.
 */
export const mayRunAgain = (call: Call): boolean => {
  if (!call.record.executed) return true
  const tool = call.record.tool
  if (tool?.passesKey) return true
  const effects = tool?.effects
  return effects === "read" || effects === "idempotent" || (effects === undefined && call.level === "tool")
}

/**
 * Fails softly from within a tool: the model is given the reason and the run goes on.
 *
 * **Example** (A tool that tells the model what to do instead)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Tool, ToolCall } from "@recourse/core"
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

/**
 * Answers from within a tool that a part of the work was done: which parts, and which not and why. The model is given
 * both, as they are; the codes and reasons are written for it. The call is not retried.
 *
 * **Example** (Two of three mails)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Tool, ToolCall } from "@recourse/core"
 *
 * const Send = Tool.make("send", {
 *   parameters: Schema.Struct({ to: Schema.Array(Schema.String) }),
 *   effects: "write",
 *   execute: ({ to }) =>
 *     ToolCall.partial({
 *       succeeded: to.filter((address) => address.includes("@")),
 *       failed: to
 *         .filter((address) => !address.includes("@"))
 *         .map((item) => ({ item, code: "not_an_address", reason: "There is no @ in it" }))
 *     })
 * })
 *
 * await Effect.runPromise(
 *   Send.call.pipe(
 *     Effect.provideService(
 *       ToolCall.ToolCall,
 *       ToolCall.make({ id: "c1", arguments: { to: ["a@x.org", "b", "c@x.org"] } })
 *     ),
 *     Effect.catchTag("PartialSuccess", ({ failed }) => Effect.succeed(failed.map(({ item }) => item)))
 *   )
 * ) // => ["b"]
 * ```
 */
export const partial = <A, Item>(parts: {
  readonly succeeded: ReadonlyArray<A>
  readonly failed: ReadonlyArray<FailedItem<Item>>
}): Effect.Effect<never, PartialSuccess<A, Item>, ToolCall> =>
  Effect.flatMap(
    ToolCall,
    (call) => Effect.fail(new PartialSuccess<A, Item>({ ...CallRecord.errorFields(call.record), ...parts }))
  )

/**
 * Answers from within a tool that a task was begun which goes on after the call. The model is given the id and, where the
 * tool declares a `status`, a tool to ask for the task's state with.
 *
 * **Example** (A job that takes its time)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Tool, ToolCall } from "@recourse/core"
 *
 * const Render = Tool.make("render", {
 *   success: Schema.String,
 *   effects: "write",
 *   execute: () => ToolCall.pending("job-7", { retryAfter: "30 seconds" }),
 *   status: (taskId) => Effect.succeed(`https://example.org/${taskId}.png`)
 * })
 *
 * await Effect.runPromise(
 *   Render.call.pipe(
 *     Effect.provideService(ToolCall.ToolCall, ToolCall.make({ id: "c1", arguments: {} })),
 *     Effect.catchTag("Pending", (pending) => Effect.succeed(pending.taskId))
 *   )
 * ) // => "job-7"
 * ```
 */
export const pending = (
  taskId: string,
  options?: { readonly retryAfter?: Duration.Input | undefined }
): Effect.Effect<never, Pending, ToolCall> =>
  Effect.flatMap(ToolCall, (call) =>
    Effect.fail(
      new Pending({
        ...CallRecord.errorFields(call.record),
        taskId,
        ...(options?.retryAfter === undefined
          ? undefined
          : { retryAfter: Duration.fromInputUnsafe(options.retryAfter) })
      })
    ))

/** The escalation of a call. */
export const escalation = (call: Call, options: {
  readonly reason: string
  readonly code?: string | undefined
  readonly severity?: Severity | undefined
  readonly error?: unknown
}): Escalation =>
  stackless(() =>
    new Escalation({
      ...CallRecord.errorFields(call.record),
      code: options.code ?? "escalated",
      reason: options.reason,
      severity: options.severity ?? "medium",
      ...(options.error === undefined ? undefined : { error: options.error })
    })
  )

/** The arguments of a call as text. */
export const argumentsText = (call: Call): string => toText(call.arguments)

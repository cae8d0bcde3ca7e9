/**
 * Tool interceptor: wraps the executor in an attempt of a tool call, the tool's `compensate` in a compensation, and the
 * tool's `reconcile` in a call under a key. Empty, unless a test sets one.
 *
 * It is inside the attempt's timeout, budget, record and error typing, so recovery cannot distinguish it from the
 * executor.
 */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import type { Effects } from "./Policy.ts"

/**
 * An execution that is about to happen.
 *
 * @category models
 * @since 0.2.0
 */
export interface Execution {
  readonly tool: string
  readonly callId: string
  /** Number of the attempt; 1 is the first. */
  readonly attempt: number
  readonly effects: Effects | undefined
  /** True if the executor passes an idempotency key on, so that it may be called again. */
  readonly passesKey: boolean
  /** The timeout of one attempt, if the tool has one. */
  readonly timeout: Duration.Duration | undefined
  /** The arguments, decoded. */
  readonly params: unknown
  /** The errors that the tool declares, if it does. */
  readonly failure: Schema.Top | undefined
  /** Schema of the executor's answer. `Schema.Never` of one that only ends the run, or gives it to another agent. */
  readonly success: Schema.Top
}

/**
 * Makes another execution of an execution.
 *
 * @category models
 * @since 0.2.0
 */
export type Interceptor = (
  execution: Execution,
  execute: Effect.Effect<unknown, unknown, unknown>
) => Effect.Effect<unknown, unknown, unknown>

/**
 * Wraps every execution of every tool below it. None by default.
 *
 * **Example** (Every first attempt fails)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Tool, ToolCall, ToolInterceptor } from "@recourse/core"
 *
 * const Get = Tool.make("get", { success: Schema.Int, effects: "read", execute: () => Effect.succeed(7) }).pipe(
 *   Tool.onError((call) => Effect.map(Effect.exit(call), (exit) => exit._tag === "Success" ? exit.value : -1))
 * )
 * const call = Effect.suspend(() =>
 *   Get.call.pipe(Effect.provideService(ToolCall.ToolCall, ToolCall.make({ id: "c1", arguments: {} }))))
 *
 * await Effect.runPromise(call) // => 7
 * await Effect.runPromise(
 *   call.pipe(
 *     Effect.provideService(ToolInterceptor.ToolInterceptor, ({ attempt }, execute) =>
 *       attempt === 1 ? Effect.fail("down") : execute)
 *   )
 * ) // => -1
 * ```
 *
 * @category services
 * @since 0.2.0
 */
export const ToolInterceptor: Context.Reference<Interceptor | undefined> = Context.Reference<Interceptor | undefined>(
  "@recourse/core/ToolInterceptor",
  { defaultValue: () => undefined }
)

/**
 * A write that is about to be compensated.
 *
 * @category models
 * @since 0.2.0
 */
export interface Compensation {
  readonly tool: string
  readonly callId: string
  /** The arguments and the result of the write, decoded. */
  readonly params: unknown
  readonly result: unknown
}

/**
 * Makes another compensation of a compensation.
 *
 * @category models
 * @since 0.2.0
 */
export type CompensationIntercept = (
  compensation: Compensation,
  undo: Effect.Effect<unknown, unknown, unknown>
) => Effect.Effect<unknown, unknown, unknown>

/**
 * Wraps every run of a tool's `compensate`. None by default.
 *
 * **Example** (Compensating without effect)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Agent, Tool, ToolInterceptor } from "@recourse/core"
 * import { ScriptedModel } from "@recourse/testing"
 *
 * const Book = Tool.make("book", {
 *   success: Schema.String,
 *   effects: "write",
 *   execute: () => Effect.succeed("seat 7"),
 *   compensate: () => Effect.die("a real cancellation")
 * })
 * const agent = Agent.make("clerk", { tools: [Book], compensation: {}, budget: { turns: 1 } })
 * const undone: Array<unknown> = []
 *
 * await Effect.runPromise(
 *   Effect.exit(agent.run("Book")).pipe(
 *     Effect.provideService(ToolInterceptor.CompensationInterceptor, ({ result }) =>
 *       Effect.sync(() => undone.push(result))),
 *     Effect.provide(ScriptedModel.layer([ScriptedModel.call("book", {})]))
 *   )
 * )
 * undone // => ["seat 7"]
 * ```
 *
 * @category services
 * @since 0.2.0
 */
export const CompensationInterceptor: Context.Reference<CompensationIntercept | undefined> = Context.Reference<
  CompensationIntercept | undefined
>("@recourse/core/CompensationInterceptor", { defaultValue: () => undefined })

/**
 * A call that is about to be looked for at its service.
 *
 * @category models
 * @since 0.2.0
 */
export interface Reconciliation {
  readonly tool: string
  readonly callId: string
  /** The arguments, decoded. */
  readonly params: unknown
}

/**
 * Makes another look-up of a look-up.
 *
 * @category models
 * @since 0.2.0
 */
export type ReconciliationIntercept = (
  reconciliation: Reconciliation,
  reconcile: Effect.Effect<unknown, unknown, unknown>
) => Effect.Effect<unknown, unknown, unknown>

/**
 * Wraps every run of a tool's `reconcile`. Default: none. Its failure counts as one of `reconcile`: the outcome stays
 * unknown.
 *
 * **Example** (The service does not answer)
 *
 * ```ts
 * import { Context, Effect } from "effect"
 * import { ToolInterceptor } from "@recourse/core"
 *
 * const down: ToolInterceptor.ReconciliationIntercept = () => Effect.fail("down")
 * const context = Context.make(ToolInterceptor.ReconciliationInterceptor, down)
 *
 * Context.get(context, ToolInterceptor.ReconciliationInterceptor) === down // => true
 * ```
 *
 * @category services
 * @since 0.2.0
 */
export const ReconciliationInterceptor: Context.Reference<ReconciliationIntercept | undefined> = Context.Reference<
  ReconciliationIntercept | undefined
>("@recourse/core/ReconciliationInterceptor", { defaultValue: () => undefined })

/** Presets: the recovery policies that the library offers, from the strictest to the one that keeps a chat alive. */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { type Declared, type Escalation, ExecutionError, OutcomeUnknown } from "../../ToolError.ts"
import { ToolCall } from "../call/call.ts"
import { executorDefectIn } from "../call/execute/executorDefect.ts"
import { happened, isWrite } from "../call/execute/effects.ts"
import { type CallRecord, errorFields } from "../call/record/record.ts"
import { noteEffects } from "../call/record/outcome.ts"
import { isTransient as isTransientFailure } from "../projection/declaration.ts"
import { escalateError } from "./escalate.ts"
import { PolicyTypeId, policyWithoutFixes, type RecoveryPolicy, type TableWithoutFixes } from "./policy.ts"

const twice = { times: 2 }

const always = {
  InvalidArgs: "escalate",
  Timeout: { retry: twice, otherwise: "escalate" },
  OutcomeUnknown: "escalate",
  LedgerUnavailable: "escalate",
  CircuitOpen: "escalate",
  PartialSuccess: "escalate"
} as const

const declaredOf = (error: unknown): Declared | undefined =>
  error instanceof ExecutionError || error instanceof OutcomeUnknown ? error.declared : undefined

const isDeclaredTransient = (error: unknown): boolean => {
  const declared = declaredOf(error)
  return declared !== undefined && isTransientFailure(declared)
}

/** Codes of the decision table that an executor's error may declare, and that the model can use. */
const reportedCodes = new Set([
  "not_found",
  "permission_denied",
  "timeout",
  "rate_limited",
  "upstream_error",
  "circuit_open"
])

const isReported = (error: unknown): boolean => {
  const declared = error instanceof ExecutionError ? error.declared : undefined
  return declared !== undefined && (reportedCodes.has(declared.code) || declared.transient === true)
}

/**
 * The policy of the decision table, for agents that work on their own.
 *
 * - Two more attempts, with growing waits, for timeouts and for failures that the tool's `failure` schema declares as
 *   `rate_limited`, `upstream_error`, `timeout` or `transient`, of reads, idempotent tools and writes under a key;
 *   after that the error is escalated.
 * - Escalated: invalid arguments, `not_found` and `permission_denied`, unknown outcomes, open circuits, an unavailable
 *   ledger and partial successes.
 * - The run ends with every other `ExecutionError`, one of our own credentials (`authentication`) included, with results that
 *   do not fit, and with conflicts of idempotency keys.
 *
 * The declarations of an executor's errors are no part of their types, so `ExecutionError` stays in the error type.
 *
 * **Example** (Remaining errors)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Recovery, Tool, ToolCall } from "@recourse/core"
 *
 * const Add = Tool.make("add", {
 *   parameters: Schema.Struct({ a: Schema.Number }),
 *   success: Schema.Number,
 *   execute: ({ a }) => Effect.succeed(a + 1)
 * })
 *
 * await Effect.runPromise(
 *   Recovery.standard(Add.call).pipe(
 *     Effect.provideService(ToolCall.ToolCall, ToolCall.make({ id: "c1", arguments: "{\"a\":" })),
 *     Effect.catchTag("Escalation", (escalation) => Effect.succeed(escalation.code))
 *   )
 * ) // => "invalid_arguments"
 * ```
 *
 * @category constants
 * @since 0.2.0
 */
export const standard: RecoveryPolicy<
  "InvalidArgs" | "Timeout" | "OutcomeUnknown" | "LedgerUnavailable" | "CircuitOpen" | "PartialSuccess",
  Escalation,
  never
> = (() => {
  const table: TableWithoutFixes = {
    ...always,
    ExecutionError: { retry: { ...twice, while: isDeclaredTransient }, otherwise: "rethrow" }
  }
  const recovered = policyWithoutFixes(table)
  const apply = (call: Effect.Effect<unknown, unknown, unknown>) =>
    Effect.catchIf(recovered(call), isReported, (error) => escalateError(error))
  return Object.assign(apply, { [PolicyTypeId]: PolicyTypeId, table })
})() as never

/**
 * {@link standard}, and every failure of an executor is escalated as well: of an undeclared one the model reads only
 * that the tool failed. No failure of a tool ends the run, except invalid results and conflicts of idempotency keys.
 * For agents that find another way by themselves, like most agents of other libraries.
 *
 * **Example** (The model reads that the tool failed)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Recovery, Tool, ToolCall } from "@recourse/core"
 *
 * const Down = Tool.make("down", { effects: "read", execute: () => Effect.fail(new Error("postgres://root:hunter2@db")) })
 *
 * await Effect.runPromise(
 *   Recovery.keepGoing(Down.call).pipe(
 *     Effect.provideService(ToolCall.ToolCall, ToolCall.make({ id: "c1", arguments: {} })),
 *     Effect.catchTag("Escalation", (escalation) => Effect.succeed(escalation.reason))
 *   )
 * ) // => "Tool execution failed."
 * ```
 *
 * @category constants
 * @since 0.2.0
 */
export const keepGoing: RecoveryPolicy<
  | "InvalidArgs"
  | "ExecutionError"
  | "Timeout"
  | "OutcomeUnknown"
  | "LedgerUnavailable"
  | "CircuitOpen"
  | "PartialSuccess",
  never,
  never
> = policyWithoutFixes({
  ...always,
  ExecutionError: { retry: { ...twice, while: isDeclaredTransient }, otherwise: "escalate" }
})

/** True if a failed call is known to have had no effect, like a typed failure: no write, no key, and no inner call. */
const isHarmless = ({ outcome: { running }, attempts: { tool }, children: { within } }: CallRecord): boolean =>
  running === 0 && within === undefined && tool !== undefined && !isWrite(tool) && !tool.passesKey

/** Types the defect of an executor: as the failure of a call whose outcome, if it is a write, is unknown. */
const typedDefects = (call: Effect.Effect<unknown, unknown, unknown>) =>
  Effect.catchCause(call, (cause) => {
    const defect = executorDefectIn(cause)
    return defect === undefined ? Effect.failCause(cause) : Effect.flatMap(ToolCall, ({ record }) => {
      if (isHarmless(record)) noteEffects(record, "no")
      const fields = errorFields(record)
      const causes = [...fields.causes, { attempt: defect.attempt, error: "Defect", reason: defect }]
      return Effect.fail(
        happened(record) === "unknown"
          ? new OutcomeUnknown({ ...fields, causes, after: Duration.zero, reason: defect })
          : new ExecutionError({ ...fields, causes, reason: defect })
      )
    })
  })

/**
 * {@link keepGoing}, and no failure of an executor ends the run: not an executor that throws or dies, a promise that rejects, or
 * a result that does not fit. For chats, in which a run that ends is a turn without an answer.
 *
 * - The model reads "Tool execution failed." of a defect, and "outcome unknown" of a write that died after it started. It is not retried.
 * - The operator reads the defect with its tool, call and cause; the audit has a `defect`.
 * - The run still ends with a defect of the library, of a layer or of a recovery, and with a conflict of idempotency keys.
 *
 * **Example** (The model reads that a tool threw)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent, Recovery, Tool } from "@recourse/core"
 * import { ScriptedModel } from "@recourse/testing"
 *
 * const Lookup = Tool.make("lookup", {
 *   effects: "read",
 *   execute: () => Effect.promise(() => Promise.reject(new Error("postgres://root:hunter2@db")))
 * })
 * const agent = Agent.make("assistant", { tools: [Lookup], defaults: { onError: Recovery.chatSafe } })
 *
 * await Effect.runPromise(
 *   agent.run("Where is my parcel?").pipe(
 *     Effect.provide(ScriptedModel.layer([ScriptedModel.call("lookup", {}), ScriptedModel.text("I could not look it up.")]))
 *   )
 * ) // => "I could not look it up."
 * ```
 *
 * @category constants
 * @since 0.2.0
 */
export const chatSafe: RecoveryPolicy<
  | "InvalidArgs"
  | "ExecutionError"
  | "Timeout"
  | "OutcomeUnknown"
  | "InvalidResult"
  | "LedgerUnavailable"
  | "CircuitOpen"
  | "PartialSuccess",
  never,
  never
> = (() => {
  const recovered = policyWithoutFixes({
    ...always,
    InvalidResult: "escalate",
    ExecutionError: { retry: { ...twice, while: isDeclaredTransient }, otherwise: "escalate" }
  })
  const apply = (call: Effect.Effect<unknown, unknown, unknown>) => recovered(typedDefects(call))
  return Object.assign(apply, { [PolicyTypeId]: PolicyTypeId, table: recovered.table })
})() as never

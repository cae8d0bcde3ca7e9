/**
 * Errors of tool calls, as tagged values.
 *
 * Every error names its call and its attempt, and lists all failed attempts of that call so far, so that a retry loses
 * no error. No error message contains argument or result values.
 */
import * as Duration from "effect/Duration"
import * as Schema from "effect/Schema"
import { operatorCause } from "./Redaction.ts"

/**
 * Severity of an escalation. It is carried to its readers and changes no behaviour.
 *
 * @category schemas
 * @since 0.2.0
 */
export const Severity = Schema.Literals(["low", "medium", "high", "critical"])

/**
 * Urgency of an escalation.
 *
 * @category models
 * @since 0.2.0
 */
export type Severity = typeof Severity.Type

/**
 * Path at which a value does not fit its schema, with the expectation there, and never with the value.
 *
 * `problem` is `"syntax"` only for arguments that are not one complete JSON object; `path` is empty then.
 *
 * @category schemas
 * @since 0.2.0
 */
export const Issue = Schema.Struct({
  path: Schema.Array(Schema.Union([Schema.String, Schema.Finite])),
  expected: Schema.String,
  problem: Schema.Literals(["syntax", "missing", "unexpected", "invalid"])
})

/**
 * Path at which a value does not fit its schema.
 *
 * @category models
 * @since 0.2.0
 */
export type Issue = typeof Issue.Type

/**
 * A failed attempt of a call: its number (1 is the first), the tag of its error, and the executor's own error if any.
 *
 * @category schemas
 * @since 0.2.0
 */
export const FailedAttempt = Schema.Struct({
  attempt: Schema.Int,
  error: Schema.String,
  reason: Schema.optionalKey(Schema.Unknown)
})

/**
 * A failed attempt of a call.
 *
 * @category models
 * @since 0.2.0
 */
export type FailedAttempt = typeof FailedAttempt.Type

/**
 * The fields that every tool error has.
 *
 * @category schemas
 * @since 0.2.0
 */
export const callFields: {
  readonly tool: Schema.String
  readonly callId: Schema.String
  readonly attempt: Schema.Int
  readonly causes: Schema.$Array<typeof FailedAttempt>
} = {
  /** Name of the tool. */
  tool: Schema.String,
  /** Id of the call, as the model gave it. */
  callId: Schema.String,
  /** Number of the attempt that failed; 1 is the first. */
  attempt: Schema.Int,
  /** All failed attempts of the call so far, oldest first, this one included. */
  causes: Schema.Array(FailedAttempt)
}

const where = (error: { readonly tool: string; readonly callId: string; readonly attempt: number }): string =>
  `tool "${error.tool}" (call ${error.callId}, attempt ${error.attempt})`

/** `whole` names the value with the issues, if an issue is about all of it. */
const renderIssues = (whole: "arguments" | "result", issues: ReadonlyArray<Issue>): string =>
  issues.map(({ expected, path }) => `${path.length === 0 ? whole : path.join(".")}: ${expected}`).join("; ")

/**
 * The model's arguments are not one complete JSON object, or do not fit the tool's schema. The tool was not executed.
 *
 * @category errors
 * @since 0.2.0
 */
export class InvalidArgs extends Schema.TaggedError<InvalidArgs>()("InvalidArgs", {
  ...callFields,
  issues: Schema.Array(Issue),
  /** Set if the tool declares `effects: "read"`: a wrong guess of the model does no harm. */
  isRead: Schema.optionalKey(Schema.Literal(true))
}) {
  override get message(): string {
    return `Invalid arguments for ${where(this)}: ${renderIssues("arguments", this.issues)}`
  }
}

/**
 * Declared projection of an executor's error: the fields of the tool's `failure` schema, and no other part of the
 * error. See `ErrorProjection.declare`.
 *
 * @category schemas
 * @since 0.2.0
 */
export const Declared = Schema.Struct({
  code: Schema.String,
  /** For the model. */
  model: Schema.optionalKey(Schema.String),
  /** For the user. */
  user: Schema.optionalKey(Schema.String),
  /** Milliseconds. */
  retryAfter: Schema.optionalKey(Schema.Number),
  /** True if the same call may succeed later, as declared. */
  transient: Schema.optionalKey(Schema.Boolean),
  /** True if the tool may be called again without a repeated effect. */
  repeatable: Schema.Boolean,
  /** Effect of a failed write: not done, or unknown. Default: unknown. */
  outcome: Schema.optionalKey(Schema.Literals(["not_done", "unknown"]))
})

/**
 * Declared projection of an executor's error.
 *
 * @category models
 * @since 0.2.0
 */
export type Declared = typeof Declared.Type

/**
 * The tool's executor failed with its own typed error, which is in `reason`. For a write it also means that it was not
 * done: the tool declares that of the error, by `ErrorProjection.declare({ outcome: "not_done" })` or by `rejected`.
 * Any other failure of a write is {@link OutcomeUnknown}.
 *
 * **Example** (Distinguishing the executor's errors)
 *
 * ```ts
 * import { Data, Effect } from "effect"
 * import { ToolError } from "@recourse/core"
 *
 * class NotFound extends Data.TaggedError("NotFound")<{ readonly id: string }> {}
 *
 * const failed: Effect.Effect<string, ToolError.ExecutionError<NotFound>> = Effect.fail(
 *   new ToolError.ExecutionError<NotFound>({ tool: "find", callId: "c1", attempt: 1, causes: [], reason: new NotFound({ id: "7" }) })
 * )
 *
 * Effect.runSync(
 *   failed.pipe(Effect.catchReason("ExecutionError", "NotFound", (reason) => Effect.succeed(`no ${reason.id}`)))
 * ) // => "no 7"
 * ```
 *
 * @category errors
 * @since 0.2.0
 */
export class ExecutionError<out D = unknown> extends Schema.TaggedError<ExecutionError>()("ExecutionError", {
  ...callFields,
  reason: Schema.Unknown,
  declared: Schema.optionalKey(Declared)
}) {
  declare readonly reason: D
  /** The executor's own error for operators, as loggers print it, without secrets. Programs use `reason`. */
  override get cause(): unknown {
    return operatorCause(this.reason)
  }
  override get message(): string {
    return `Execution failed in ${where(this)}`
  }
}

/**
 * One attempt took longer than the tool's `timeout`; it was interrupted. Only for repeatable tools, or tools that do
 * not declare their `effects`: a write without an answer is {@link OutcomeUnknown}.
 *
 * @category errors
 * @since 0.2.0
 */
export class Timeout extends Schema.TaggedError<Timeout>()("Timeout", {
  ...callFields,
  after: Schema.Duration,
  /** Set if a new call with the same arguments repeats no effect: the tool declares it by its `effects`. */
  repeatable: Schema.optionalKey(Schema.Literal(true))
}) {
  override get message(): string {
    return `No answer within ${Duration.format(this.after)} from ${where(this)}`
  }
}

/**
 * A write may have happened. Its executor started, and no answer reports its effect. It took longer than its `timeout`,
 * failed with an error not declared as `not_done`, was interrupted, or failed with this error itself. Also if a later
 * attempt of the call was refused, or if the ledger has an earlier call with the same idempotency key and an unknown
 * outcome. `after` is the timeout, or the time since that call started.
 *
 * A tag of its own, so that recovery written for `Timeout` and `ExecutionError` cannot be applied to it.
 *
 * @category errors
 * @since 0.2.0
 */
export class OutcomeUnknown extends Schema.TaggedError<OutcomeUnknown>()("OutcomeUnknown", {
  ...callFields,
  after: Schema.Duration,
  /** The executor's own error, or the reason of the refusal of a later attempt. */
  reason: Schema.optionalKey(Schema.Unknown),
  /** Declared projection of `reason`. */
  declared: Schema.optionalKey(Declared),
  /** Set if the tool passes an idempotency key on: `Recovery.retry` may run the attempt again under it. */
  underKey: Schema.optionalKey(Schema.Literal(true)),
  /** Set if a new call with the same arguments repeats no effect: its key is made of the arguments. */
  repeatable: Schema.optionalKey(Schema.Literal(true))
}) {
  /** The executor's own error for operators, or the refusal of a later attempt, without secrets. */
  override get cause(): unknown {
    return operatorCause(this.reason)
  }
  override get message(): string {
    const after = Duration.isZero(this.after) ? "" : ` after ${Duration.format(this.after)}`
    return `Outcome unknown${after} in ${where(this)}`
  }
}

/**
 * A write of a run whose compensation was due and is missing: a person has to look at it. The agent's
 * `compensation.report` and the audit receive it; no run fails with it.
 *
 * - `unknown`: it is unknown if the write happened, and the tool has no `reconcile`, or `reconcile` could not find out.
 * - `partial`, `pending`: it was done in part, or has started a task, so that there is no result to compensate.
 * - `failed`, `timeout`: its `compensate` failed, with `reason`, or did not answer: it is unknown if the write is
 *   compensated.
 * - `unreadable`: its stored arguments or result cannot be decoded.
 * - `no_tool`: the run continued in another process, and the agent has no tool of this name, or several that may have
 *   done it: see `compensation.tools`.
 *
 * @category errors
 * @since 0.2.0
 */
export class NotCompensated extends Schema.TaggedError<NotCompensated>()("NotCompensated", {
  tool: Schema.String,
  callId: Schema.String,
  because: Schema.Literals(["unknown", "partial", "pending", "failed", "timeout", "unreadable", "no_tool"]),
  arguments: Schema.Json,
  /** The tag of the error of its `compensate` or `reconcile`, or `"Defect"`; also if that was in another process. */
  error: Schema.optionalKey(Schema.String),
  /** The error itself, in the process in which it occurred: it is in no type, and is for operators. */
  reason: Schema.optionalKey(Schema.Unknown)
}) {
  override get message(): string {
    const { because, callId, error, tool } = this
    return `The call ${callId} of "${tool}" is not compensated (${
      error === undefined ? because : `${because}: ${error}`
    })`
  }
}

/**
 * The key of an idempotent call was used before, with other arguments or by another tool, so the intended call is
 * ambiguous. No call was executed. Ends the run unless a handler decides otherwise.
 *
 * @category errors
 * @since 0.2.0
 */
export class IdempotencyConflict extends Schema.TaggedError<IdempotencyConflict>()("IdempotencyConflict", {
  ...callFields,
  /** Id of the entry in the ledger: a SHA-256 in hexadecimal, never the arguments. */
  entry: Schema.String
}) {
  override get message(): string {
    return `The idempotency key of ${where(this)} belongs to a call with other arguments`
  }
}

/**
 * The ledger could not record the call before its execution, so it was not executed. `reason` is the ledger's own
 * error.
 *
 * @category errors
 * @since 0.2.0
 */
export class LedgerUnavailable extends Schema.TaggedError<LedgerUnavailable>()("LedgerUnavailable", {
  ...callFields,
  reason: Schema.Unknown
}) {
  /** The ledger's own error for operators: secrets are taken out. */
  override get cause(): unknown {
    return operatorCause(this.reason)
  }
  override get message(): string {
    return `Not run, because the ledger is not available: ${where(this)}`
  }
}

/**
 * The circuit of the tool is open after too many failures: the tool was not run, and will not be before `until`.
 *
 * @category errors
 * @since 0.2.0
 */
export class CircuitOpen extends Schema.TaggedError<CircuitOpen>()("CircuitOpen", {
  ...callFields,
  /** Name of the circuit. */
  circuit: Schema.String,
  retryAfter: Schema.Duration,
  /** When the next call may be tried, in milliseconds since the epoch. */
  until: Schema.Finite
}) {
  override get message(): string {
    return `Circuit open for ${Duration.format(this.retryAfter)}: ${where(this)}`
  }
}

/**
 * A part of the work that was not done: which one, a code, and a reason that is meant for the model and the user to read.
 *
 * @category models
 * @since 0.2.0
 */
export interface FailedItem<out Item = unknown> {
  readonly item: Item
  readonly code: string
  readonly reason: string
}

/**
 * The executor did a part of the work: `succeeded` is the completed part, `failed` the other part with reasons. Both
 * are shown to the model as they are. `Recovery.retry` does not repeat it. Made by `ToolCall.partial`.
 *
 * @category errors
 * @since 0.2.0
 */
export class PartialSuccess<out A = unknown, out Item = unknown>
  extends Schema.TaggedError<PartialSuccess>()("PartialSuccess", {
    ...callFields,
    succeeded: Schema.Array(Schema.Unknown),
    failed: Schema.Array(Schema.Struct({ item: Schema.Unknown, code: Schema.String, reason: Schema.String }))
  })
{
  declare readonly succeeded: ReadonlyArray<A>
  declare readonly failed: ReadonlyArray<FailedItem<Item>>
  override get message(): string {
    return `${this.failed.length} of ${this.failed.length + this.succeeded.length} parts failed in ${where(this)}`
  }
}

/**
 * The tool has started a task that continues after the call: neither a failure nor yet the result. The model receives
 * the task's id and the tool's status tool, and the run continues. Made by `ToolCall.pending`.
 *
 * @category errors
 * @since 0.2.0
 */
export class Pending extends Schema.TaggedError<Pending>()("Pending", {
  ...callFields,
  taskId: Schema.String,
  /** When it is worth asking again. */
  retryAfter: Schema.optionalKey(Schema.Duration)
}) {
  override get message(): string {
    return `Task ${this.taskId} is pending in ${where(this)}`
  }
}

/**
 * The answer of the tool (or of its recovery) does not fit the tool's `success` schema. Never retried.
 *
 * @category errors
 * @since 0.2.0
 */
export class InvalidResult extends Schema.TaggedError<InvalidResult>()("InvalidResult", {
  ...callFields,
  issues: Schema.Array(Issue)
}) {
  override get message(): string {
    return `Invalid result of ${where(this)}: ${renderIssues("result", this.issues)}`
  }
}

/**
 * The soft failure: the model of the agent that owns the tool receives `reason` as a failed result and the run
 * continues.
 *
 * `error` is the escalated failure, if there was one; it is for the operator and never reaches the model.
 *
 * @category errors
 * @since 0.2.0
 */
export class Escalation extends Schema.TaggedError<Escalation>()("Escalation", {
  ...callFields,
  code: Schema.String,
  reason: Schema.String,
  severity: Severity,
  error: Schema.optionalKey(Schema.Unknown)
}) {
  /** The failure that was escalated, for operators: secrets are taken out. */
  override get cause(): unknown {
    return operatorCause(this.error)
  }
  override get message(): string {
    return `Escalation (${this.severity}) from ${where(this)}: ${this.reason}`
  }
}

/**
 * The call needs an approval and has none: the tool was not executed. Only calls by hand fail with it; in an agent's run
 * the run pauses. Not visible to recovery.
 *
 * @category errors
 * @since 0.2.0
 */
export class NotApproved extends Schema.TaggedError<NotApproved>()("NotApproved", {
  tool: Schema.String,
  callId: Schema.String
}) {
  override get message(): string {
    return `Call ${this.callId} of tool "${this.tool}" needs an approval`
  }
}

/**
 * In the type of an untrusted tool: a later call may need an approval, unless the agent declares `onTainted: "deny"`.
 * No call fails with it.
 *
 * @category models
 * @since 0.2.0
 */
export interface NotApprovedOnceTainted extends NotApproved {
  readonly onceTainted: true
}

/**
 * An agent called its `escalate` tool: it hands the problem back to its caller.
 *
 * @category errors
 * @since 0.2.0
 */
export class Escalated extends Schema.TaggedError<Escalated>()("Escalated", {
  agent: Schema.String,
  reason: Schema.String,
  severity: Severity
}) {
  override get message(): string {
    return `Agent "${this.agent}" escalated (${this.severity}): ${this.reason}`
  }
}

/**
 * An agent called its `throwException` tool: the whole run is to end.
 *
 * @category errors
 * @since 0.2.0
 */
export class AgentException extends Schema.TaggedError<AgentException>()("AgentException", {
  agent: Schema.String,
  reason: Schema.String
}) {
  override get message(): string {
    return `Agent "${this.agent}" threw an exception: ${this.reason}`
  }
}

/**
 * The executor of a tool threw, died, or returned a promise that rejected. It is a defect: it is in no error type, and the run ends
 * with it unless `Recovery.chatSafe` handles it. `reason` is the executor's own error.
 *
 * @category errors
 * @since 0.2.0
 */
export class ExecutorDefect extends Schema.TaggedError<ExecutorDefect>()("ExecutorDefect", {
  tool: Schema.String,
  callId: Schema.String,
  /** Number of the attempt that died; 1 is the first. */
  attempt: Schema.Int,
  reason: Schema.Unknown
}) {
  /** The executor's own error for operators: secrets are removed. */
  override get cause(): unknown {
    return operatorCause(this.reason)
  }
  override get message(): string {
    return `The executor of ${where(this)} threw or died. For a typed error use Effect.try or Effect.tryPromise`
  }
}

/**
 * Everything that a tool call can fail with by Recourse's own doing; `D` is the executor's own error.
 *
 * @category errors
 * @since 0.2.0
 */
export type ToolError<D = unknown> =
  | InvalidArgs
  | ExecutionError<D>
  | Timeout
  | OutcomeUnknown
  | InvalidResult
  | Escalation
  | IdempotencyConflict
  | LedgerUnavailable
  | CircuitOpen
  | PartialSuccess
  | Pending

/**
 * True if a value is one of the errors of {@link ToolError}.
 *
 * @category guards
 * @since 0.2.0
 */
export const isToolError = (u: unknown): u is ToolError =>
  u instanceof InvalidArgs || u instanceof ExecutionError || u instanceof Timeout || u instanceof OutcomeUnknown ||
  u instanceof InvalidResult || u instanceof Escalation || u instanceof IdempotencyConflict ||
  u instanceof LedgerUnavailable || u instanceof CircuitOpen || u instanceof PartialSuccess || u instanceof Pending

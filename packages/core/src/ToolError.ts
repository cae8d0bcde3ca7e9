/**
 * Errors of tool calls, as tagged values.
 *
 * Every error names its call and its attempt, and lists all failed attempts of that call so far, so that a retry loses
 * nothing. No error message holds argument or result values.
 */
import * as Duration from "effect/Duration"
import * as Schema from "effect/Schema"
import { operatorCause } from "./Redaction.ts"

/** Severity of an escalation. It is carried to its readers and changes no behaviour. */
export const Severity = Schema.Literals(["low", "medium", "high", "critical"])

/** How urgent an escalation is. */
export type Severity = typeof Severity.Type

/**
 * One place where a value does not fit its schema: where, what was expected there, and never what was there instead.
 *
 * `problem` is `"syntax"` only for arguments that are not one complete JSON object; `path` is empty then.
 */
export const Issue = Schema.Struct({
  path: Schema.Array(Schema.Union([Schema.String, Schema.Finite])),
  expected: Schema.String,
  problem: Schema.Literals(["syntax", "missing", "unexpected", "invalid"])
})

/** One place where a value does not fit its schema. */
export type Issue = typeof Issue.Type

/** A failed attempt of a call: its number (1 is the first), the tag of its error, and the executor's own error if any. */
export const FailedAttempt = Schema.Struct({
  attempt: Schema.Int,
  error: Schema.String,
  reason: Schema.optionalKey(Schema.Unknown)
})

/** A failed attempt of a call. */
export type FailedAttempt = typeof FailedAttempt.Type

/** The fields that every tool error has. */
export const callFields = {
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

/** `whole` names what has the issues, where one is about all of it. */
const renderIssues = (whole: "arguments" | "result", issues: ReadonlyArray<Issue>): string =>
  issues.map(({ expected, path }) => `${path.length === 0 ? whole : path.join(".")}: ${expected}`).join("; ")

/** The model's arguments are not one complete JSON object, or do not fit the tool's schema. The tool was not executed. */
export class InvalidArgs extends Schema.TaggedError<InvalidArgs>()("InvalidArgs", {
  ...callFields,
  issues: Schema.Array(Issue),
  /** Set where the tool declares `effects: "read"`: a wrong guess of the model does no harm. */
  isRead: Schema.optionalKey(Schema.Literal(true))
}) {
  override get message(): string {
    return `Invalid arguments for ${where(this)}: ${renderIssues("arguments", this.issues)}`
  }
}

/**
 * What an executor's error may say to others: what the tool's `failure` schema declares, and nothing else of the error.
 * See `ErrorProjection.declare`.
 */
export const Declared = Schema.Struct({
  code: Schema.String,
  /** For the model. */
  model: Schema.optionalKey(Schema.String),
  /** For the user. */
  user: Schema.optionalKey(Schema.String),
  /** Milliseconds. */
  retryAfter: Schema.optionalKey(Schema.Number),
  /** Whether the same call may succeed later, where the declaration says so. */
  transient: Schema.optionalKey(Schema.Boolean),
  /** Whether the tool may be called again without doing anything twice. */
  repeatable: Schema.Boolean,
  /** What the error says about a write: nothing was done, or nobody knows. Left out: nobody knows. */
  outcome: Schema.optionalKey(Schema.Literals(["not_done", "unknown"]))
})

/** What an executor's error may say to others. */
export type Declared = typeof Declared.Type

/**
 * The tool's executor failed with its own typed error, which stands in `reason`. For a write it says besides that nothing
 * was done: the tool declares that of the error, by `ErrorProjection.declare({ outcome: "not_done" })` or by `rejected`. Any
 * other failure of a write is {@link OutcomeUnknown}.
 *
 * **Example** (Telling the executor's errors apart)
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
 */
export class ExecutionError<out D = unknown> extends Schema.TaggedError<ExecutionError>()("ExecutionError", {
  ...callFields,
  reason: Schema.Unknown,
  declared: Schema.optionalKey(Declared)
}) {
  declare readonly reason: D
  /** The executor's own error for operators, as loggers print it: secrets are taken out. For programs there is `reason`. */
  override get cause(): unknown {
    return operatorCause(this.reason)
  }
  override get message(): string {
    return `Execution failed in ${where(this)}`
  }
}

/**
 * One attempt took longer than the tool's `timeout`; it was interrupted. Only for tools that do nothing twice, or that do not
 * declare their `effects`: a write without an answer is {@link OutcomeUnknown}.
 */
export class Timeout extends Schema.TaggedError<Timeout>()("Timeout", {
  ...callFields,
  after: Schema.Duration,
  /** Set where a new call with the same arguments does nothing twice: the tool says so by its `effects`. */
  repeatable: Schema.optionalKey(Schema.Literal(true))
}) {
  override get message(): string {
    return `No answer within ${Duration.format(this.after)} from ${where(this)}`
  }
}

/**
 * A write may have happened. Its executor began, and there is no answer that says what it did: it took longer than its
 * `timeout`, it failed with an error that the tool does not declare as `not_done`, it was interrupted, or it failed with this
 * error itself. Also when a later attempt of the call was refused, and when the ledger has an earlier call with the same
 * idempotency key of which nobody knows what came. `after` is the timeout, or the time since that call began.
 *
 * A tag of its own, so that recovery written for `Timeout` and `ExecutionError` cannot be applied to it.
 */
export class OutcomeUnknown extends Schema.TaggedError<OutcomeUnknown>()("OutcomeUnknown", {
  ...callFields,
  after: Schema.Duration,
  /** The executor's own error, or what a later attempt was refused for. */
  reason: Schema.optionalKey(Schema.Unknown),
  /** What the tool declares of `reason`. */
  declared: Schema.optionalKey(Declared),
  /** Set where the tool passes an idempotency key on: `Recovery.retry` may run the attempt again under it. */
  underKey: Schema.optionalKey(Schema.Literal(true)),
  /** Set where a new call with the same arguments does nothing twice: its key is made of the arguments. */
  repeatable: Schema.optionalKey(Schema.Literal(true))
}) {
  /** The executor's own error for operators, or what a later attempt was refused for: secrets are taken out. */
  override get cause(): unknown {
    return operatorCause(this.reason)
  }
  override get message(): string {
    return `Outcome unknown after ${Duration.format(this.after)} in ${where(this)}`
  }
}

/**
 * A write of a run that was to be undone, and is not: a person has to look at it. The agent's `compensation.report` is given it, as
 * is the audit; no run fails with it.
 *
 * - `unknown`: nobody knows whether it happened, and the tool has no `reconcile` that could find out, or it could not.
 * - `partial`, `pending`: it was done in part, or has begun a task, so that there is no result to undo.
 * - `failed`, `timeout`: its `compensate` failed, with `reason`, or gave no answer: nobody knows whether it is undone.
 * - `unreadable`: its arguments or its result cannot be read from where they were stored.
 * - `no_tool`: the run has gone on in another process, and the agent has no tool of this name, or several that may have done it: see `compensation.tools`.
 */
export class NotCompensated extends Schema.TaggedError<NotCompensated>()("NotCompensated", {
  tool: Schema.String,
  callId: Schema.String,
  because: Schema.Literals(["unknown", "partial", "pending", "failed", "timeout", "unreadable", "no_tool"]),
  arguments: Schema.Json,
  /** The tag of what its `compensate` or `reconcile` failed with, or `"Defect"`; also where that was in another process. */
  error: Schema.optionalKey(Schema.String),
  /** What it failed with, in the process in which it did: it stands in no type, and is for operators. */
  reason: Schema.optionalKey(Schema.Unknown)
}) {
  override get message(): string {
    const { because, callId, error, tool } = this
    return `The call ${callId} of "${tool}" is not undone (${error === undefined ? because : `${because}: ${error}`})`
  }
}

/**
 * The key of an idempotent call was used before, with other arguments or by another tool: nobody can say which of the two
 * was meant. Nothing was run. Ends the run unless a handler decides otherwise.
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

/** The ledger could not record what was about to be done, so it was not done. `reason` is the ledger's own error. */
export class LedgerUnavailable extends Schema.TaggedError<LedgerUnavailable>()("LedgerUnavailable", {
  ...callFields,
  reason: Schema.Unknown
}) {
  /** The ledger's own error for operators: secrets are taken out. */
  override get cause(): unknown {
    return operatorCause(this.reason)
  }
  override get message(): string {
    return `Not run, as the ledger is not available: ${where(this)}`
  }
}

/** The circuit of the tool is open after too many failures: the tool was not run, and will not be before `until`. */
export class CircuitOpen extends Schema.TaggedError<CircuitOpen>()("CircuitOpen", {
  ...callFields,
  /** Which circuit. */
  circuit: Schema.String,
  retryAfter: Schema.Duration,
  /** When the next call may be tried, in milliseconds since the epoch. */
  until: Schema.Finite
}) {
  override get message(): string {
    return `Circuit open for ${Duration.format(this.retryAfter)}: ${where(this)}`
  }
}

/** A part of the work that was not done: which one, a code, and a reason that is meant for the model and the user to read. */
export interface FailedItem<out Item = unknown> {
  readonly item: Item
  readonly code: string
  readonly reason: string
}

/**
 * The executor did a part of the work: `succeeded` is what it did, `failed` what it did not do and why. Both are shown to
 * the model as they are. `Recovery.retry` does not repeat it. Made by `ToolCall.partial`.
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
 * The tool has begun a task that goes on after the call: not a failure, and not yet the result. The model is given the
 * task's id and the tool's status tool, and the run goes on. Made by `ToolCall.pending`.
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

/** What the tool (or its recovery) answered does not fit the tool's `success` schema. Never retried. */
export class InvalidResult extends Schema.TaggedError<InvalidResult>()("InvalidResult", {
  ...callFields,
  issues: Schema.Array(Issue)
}) {
  override get message(): string {
    return `Invalid result of ${where(this)}: ${renderIssues("result", this.issues)}`
  }
}

/**
 * The soft failure: the model of the agent that owns the tool is given `reason` as a failed result and the run goes on.
 *
 * `error` is the failure that was escalated, where there was one; it is for the operator and never reaches the model.
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
 * Stands in the type of an untrusted tool: what is called after it may need an approval, unless the agent says `onTainted: "deny"`.
 * No call fails with it.
 */
export interface NotApprovedOnceTainted extends NotApproved {
  readonly onceTainted: true
}

/** An agent called its `escalate` tool: it hands the problem back to its caller. */
export class Escalated extends Schema.TaggedError<Escalated>()("Escalated", {
  agent: Schema.String,
  reason: Schema.String,
  severity: Severity
}) {
  override get message(): string {
    return `Agent "${this.agent}" escalated (${this.severity}): ${this.reason}`
  }
}

/** An agent called its `throwException` tool: the whole run is to end. */
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

/** Everything that a tool call can fail with by Recourse's own doing; `D` is the executor's own error. */
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

/** Whether a value is one of the errors of {@link ToolError}. */
export const isToolError = (u: unknown): u is ToolError =>
  u instanceof InvalidArgs || u instanceof ExecutionError || u instanceof Timeout || u instanceof OutcomeUnknown ||
  u instanceof InvalidResult || u instanceof Escalation || u instanceof IdempotencyConflict ||
  u instanceof LedgerUnavailable || u instanceof CircuitOpen || u instanceof PartialSuccess || u instanceof Pending

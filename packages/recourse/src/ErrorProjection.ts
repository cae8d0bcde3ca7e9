/**
 * The one place where a failure becomes what a model and a user are told.
 *
 * Opaque by default: an executor's own error, a defect or a cause gives a code and a fixed sentence. What a model reads
 * beyond that is what the program declared for it: field paths and expectations of schemas, and escalations.
 */
import { Duration, Schema } from "effect"
import { type AgentException, type Escalated, Issue, Severity, type ToolError } from "./ToolError.ts"

/** What stands in a tool result that is a failure. */
export const ToolFailure = Schema.Struct({
  status: Schema.Literal("error"),
  /** Machine-readable, such as `invalid_arguments`, `timeout`, `outcome_unknown`. */
  code: Schema.String,
  message_for_model: Schema.String,
  message_for_user: Schema.String,
  /** Whether the same call may be made again without doing anything twice. */
  safe_to_retry: Schema.Boolean,
  /** The run, for finding it in logs and traces. */
  trace_id: Schema.String,
  /** The first field that is wrong. */
  field: Schema.optionalKey(Schema.String),
  /** What the model is to do now. */
  instruction: Schema.optionalKey(Schema.String),
  /** How long not to call again. */
  retry_after_ms: Schema.optionalKey(Schema.Int),
  /** The parts that were done, and those that were not, of a `partial_success`. */
  succeeded: Schema.optionalKey(Schema.Array(Schema.Unknown)),
  failed: Schema.optionalKey(
    Schema.Array(Schema.Struct({ item: Schema.Unknown, code: Schema.String, reason: Schema.String }))
  ),
  issues: Schema.optionalKey(Schema.Array(Issue)),
  severity: Schema.optionalKey(Severity),
  available_tools: Schema.optionalKey(Schema.Array(Schema.String))
})

/** What stands in a tool result that is a failure. */
export type ToolFailure = typeof ToolFailure.Type

const temporary = "The service is temporarily slow. Please try again later."
const unexpected = "Something went wrong. Please try again later."

const pathOf = (issue: Issue): string => issue.path.join(".")

const describe = (issues: ReadonlyArray<Issue>): string =>
  issues.map((issue) => issue.path.length === 0 ? issue.expected : `${pathOf(issue)}: ${issue.expected}`).join("; ")

const invalidArguments = (issues: ReadonlyArray<Issue>): Omit<ToolFailure, "status" | "trace_id"> => {
  const first = issues.find((issue) => issue.path.length > 0)
  return {
    code: issues.every((issue) => issue.problem === "missing") ? "missing_required_field" : "invalid_arguments",
    message_for_model: `The arguments do not fit: ${describe(issues)}`,
    message_for_user: "I need more information to do that.",
    safe_to_retry: true,
    instruction: "Call again with corrected arguments.",
    issues,
    ...(first === undefined ? undefined : { field: pathOf(first) })
  }
}

const unknownOutcome: Omit<ToolFailure, "status" | "trace_id"> = {
  code: "outcome_unknown",
  message_for_model: "No answer came back. What the tool was asked to do may have happened.",
  message_for_user: "I could not confirm whether this was done. Please check before trying again.",
  safe_to_retry: false,
  instruction: "Do not call again. Check first whether it happened."
}

const body = (error: unknown): Omit<ToolFailure, "status" | "trace_id"> => {
  const known = error as ToolError | Escalated | AgentException
  switch (known?._tag) {
    case "InvalidArgs":
      return invalidArguments(known.issues)
    case "Timeout":
      if (known.mayHaveHappened) return unknownOutcome
      return {
        code: "timeout",
        message_for_model: "The tool did not answer in time.",
        message_for_user: temporary,
        safe_to_retry: true,
        instruction: "Try again later or another way."
      }
    case "OutcomeUnknown":
      return unknownOutcome
    case "IdempotencyConflict":
      return {
        code: "idempotency_conflict",
        message_for_model: "Not done: the same key was used before with other arguments. The state is uncertain.",
        message_for_user: "I could not tell what was done. A person must look at it.",
        safe_to_retry: false
      }
    case "LedgerUnavailable":
      return {
        code: "ledger_unavailable",
        message_for_model: "Not done: the call could not be recorded. Nothing has happened.",
        message_for_user: temporary,
        safe_to_retry: true,
        instruction: "Try again later or another way."
      }
    case "CircuitOpen":
      return {
        code: "circuit_open",
        message_for_model: `The tool is temporarily unavailable. Do not call it before ${
          new Date(known.until).toISOString()
        }.`,
        message_for_user: temporary,
        safe_to_retry: true,
        retry_after_ms: Math.ceil(Duration.toMillis(known.retryAfter)),
        instruction: "Do not call again before that time. Go on without it, or another way."
      }
    case "PartialSuccess":
      return {
        code: "partial_success",
        message_for_model: `${known.succeeded.length} parts were done and ${known.failed.length} were not.`,
        message_for_user: "A part of it was done.",
        safe_to_retry: false,
        instruction: "Do not repeat what was done. Decide about each part that was not.",
        succeeded: known.succeeded,
        failed: known.failed
      }
    case "InvalidResult":
      return {
        code: "invalid_result",
        message_for_model: "The tool ran, but its result cannot be used.",
        message_for_user: unexpected,
        safe_to_retry: false
      }
    case "Escalation": {
      const inner = known.error === undefined ? undefined : body(known.error)
      return {
        ...(inner?.code === known.code ? inner : {
          message_for_user: inner?.message_for_user ?? unexpected,
          safe_to_retry: inner?.safe_to_retry ?? false
        }),
        code: known.code,
        message_for_model: known.reason,
        severity: known.severity
      }
    }
    case "Escalated":
      return { code: "escalated", message_for_model: known.reason, message_for_user: unexpected, safe_to_retry: false }
    case "AgentException":
      return {
        code: "exception",
        message_for_model: "The run ends.",
        message_for_user: unexpected,
        safe_to_retry: false
      }
    default:
      return {
        code: "execution_error",
        message_for_model: "Tool execution failed.",
        message_for_user: unexpected,
        safe_to_retry: false
      }
  }
}

/**
 * What a model is told of an error that ended a tool call.
 *
 * **Example** (An executor's error stays opaque)
 *
 * ```ts
 * import { ErrorProjection, ToolError } from "recourse"
 *
 * const error = new ToolError.ExecutionError({
 *   tool: "query",
 *   callId: "c1",
 *   attempt: 1,
 *   causes: [],
 *   reason: new Error("connect postgres://root:hunter2@10.0.0.7")
 * })
 *
 * ErrorProjection.toolFailure(error, "run-1").message_for_model // => "Tool execution failed."
 * ```
 */
export const toolFailure = (error: unknown, traceId: string): ToolFailure => ({
  status: "error",
  ...body(error),
  trace_id: traceId
})

/** A call of a tool that the agent does not have. */
export const toolNotFound = (name: string, available: ReadonlyArray<string>, traceId: string): ToolFailure => ({
  status: "error",
  code: "tool_not_found",
  message_for_model: `There is no tool "${name}".`,
  message_for_user: unexpected,
  safe_to_retry: false,
  instruction: "Use one of the available tools.",
  available_tools: available,
  trace_id: traceId
})

/** A call that was not run because the run ended before its turn, or while it ran. */
export const notRun = (started: boolean, traceId: string): ToolFailure => ({
  status: "error",
  code: "not_run",
  message_for_model: started
    ? "Not finished: the run ended while the tool was running."
    : "Not run: the run ended before.",
  message_for_user: "This was not done.",
  safe_to_retry: !started,
  trace_id: traceId
})

/** The same call with the same arguments failed in the same way too often. */
export const repeatedCall = (times: number, code: string, traceId: string): ToolFailure => ({
  status: "error",
  code: "repeated_call",
  message_for_model: `This call failed ${times} times with the same arguments and the same error (${code}).`,
  message_for_user: unexpected,
  safe_to_retry: false,
  instruction: "Do not make this call again. Change the arguments, use another tool, or answer without it.",
  trace_id: traceId
})

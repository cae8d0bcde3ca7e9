/** Ends of runs without an output. */
import * as Schema from "effect/Schema"

/**
 * A run failed with an error that has no schema. The operator's details are in the events and spans of the run.
 *
 * @category errors
 * @since 0.2.0
 */
export class RunFailed extends Schema.TaggedError<RunFailed>()("RunFailed", {
  runId: Schema.String,
  /** The tag of the error. */
  error: Schema.String,
  code: Schema.String,
  userMessage: Schema.String
}) {
  override get message(): string {
    return `Run "${this.runId}" failed with ${this.error} (${this.code})`
  }
}

/**
 * A run was cancelled.
 *
 * @category errors
 * @since 0.2.0
 */
export class RunCancelled extends Schema.TaggedError<RunCancelled>()("RunCancelled", {
  runId: Schema.String
}) {
  override get message(): string {
    return `Run "${this.runId}" was cancelled`
  }
}

/**
 * A run was started by an older version of its agent, which the present version stops (`previousVersions` of `Durable.make`).
 *
 * @category errors
 * @since 0.2.0
 */
export class VersionStopped extends Schema.TaggedError<VersionStopped>()("VersionStopped", {
  runId: Schema.String,
  /** The version that began the run. */
  version: Schema.String
}) {
  override get message(): string {
    return `Run "${this.runId}" was stopped, because version "${this.version}" of its agent started it`
  }
}

/**
 * Tags of the library's errors, which need no schema: a run that ends with one has its code and its text in {@link RunFailed}.
 *
 * @category errors
 * @since 0.2.0
 */
export type LibraryTag =
  | "AiError"
  | "BudgetExceeded"
  | "InvalidInput"
  | "InvalidOutput"
  | "SkillNotChosen"
  | "UnsafeInput"
  | "UnsafeOutput"
  | "HandedOff"
  | "ApprovalRequired"
  | "SnapshotRefused"
  | "DecisionRefused"
  | "InvalidArgs"
  | "ExecutionError"
  | "Timeout"
  | "OutcomeUnknown"
  | "InvalidResult"
  | "Escalation"
  | "Escalated"
  | "AgentException"
  | "IdempotencyConflict"
  | "LedgerUnavailable"
  | "CircuitOpen"
  | "PartialSuccess"
  | "Pending"
  | "NotApproved"
  | "SchemaError"
  | "TransactionFailed"

/**
 * Requires a schema of each error of an agent but the library's own.
 *
 * @category utility types
 * @since 0.2.0
 */
export type HaveSchemas<E, Known> = [Exclude<E, Known | { readonly _tag: LibraryTag }>] extends [never] ? unknown
  : {
    readonly "An error of the agent has no schema: list it in `errors`, or handle it in the agent": {
      readonly error: Exclude<E, Known | { readonly _tag: LibraryTag }>
    }
  }

/** Decisions of people about waiting calls: approve, edit, reject, respond. */
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { atFirstUse } from "../foundation/lazyValue.ts"
import { toJson } from "../foundation/json/jsonValue.ts"
import { fromIssue } from "../foundation/schema/schemaIssues.ts"
import { DecisionRefused } from "./outcome.ts"
import type { PendingCall } from "./snapshot.ts"

export const about = {
  callId: Schema.String,
  /** Hash of the arguments that the decision was made about. */
  argumentsHash: Schema.String,
  /** Name of the person who decided, for the audit. */
  by: Schema.optionalKey(Schema.String)
}

const Approve = Schema.TaggedStruct("Approve", about)
const Edit = Schema.TaggedStruct("Edit", { ...about, arguments: Schema.Record(Schema.String, Schema.Json) })
const Reject = Schema.TaggedStruct("Reject", { ...about, reason: Schema.String })
const Respond = Schema.TaggedStruct("Respond", { ...about, result: Schema.Json })

const Fail = Schema.TaggedStruct("Fail", { ...about, error: Schema.Json })

type ApproveSchemaType = typeof Approve
type EditSchemaType = typeof Edit
type RejectSchemaType = typeof Reject
type RespondSchemaType = typeof Respond
type FailSchemaType = typeof Fail

/**
 * Schema of a decision about a pending call.
 *
 * @category models
 * @since 0.2.0
 */
export interface DecisionSchema
  extends
    Schema.Union<readonly [ApproveSchemaType, EditSchemaType, RejectSchemaType, RespondSchemaType, FailSchemaType]>
{}

/**
 * A person's decision about a pending call, or a page's result of a client tool's call. JSON of any source.
 *
 * @category schemas
 * @since 0.2.0
 */
export const Decision: DecisionSchema = Schema.Union([Approve, Edit, Reject, Respond, Fail])

/**
 * A person's decision about a pending call. Named by hand, so that messages of the compiler name it.
 *
 * @category models
 * @since 0.2.0
 */
export type Decision =
  | typeof Approve.Type
  | typeof Edit.Type
  | typeof Reject.Type
  | typeof Respond.Type
  | typeof Fail.Type

const decode = atFirstUse(() => Schema.decodeUnknownResult(Decision))

const callIdOf = (value: unknown): { readonly callId?: string } =>
  typeof value === "object" && value !== null && Object.hasOwn(value, "callId") && "callId" in value &&
    typeof value.callId === "string"
    ? { callId: value.callId }
    : {}

/** Reads the JSON of a value: its own fields, so that no prototype decides. */
const read = (value: unknown): Result.Result<Decision, Schema.SchemaError> =>
  decode()(Option.getOrUndefined(toJson(value)), { errors: "all", onExcessProperty: "error" })

/**
 * Decodes untrusted decisions, such as the body of a request. `agent.resume` does the same with its argument. Fails
 * with `DecisionRefused` (`malformed`) for the first element that is not a decision: another `_tag`, or a missing,
 * wrong or unknown field. Also fails for a value that is not a list.
 *
 * **Example** (A tag that there is not)
 *
 * ```ts
 * import { Result } from "effect"
 * import { Approval } from "@recourse/core"
 *
 * const refused = Approval.decodeDecisions([{ _tag: "Deny", callId: "call_1", argumentsHash: "00" }])
 * Result.isFailure(refused) ? [refused.failure.reason, refused.failure.callId] : [] // => ["malformed", "call_1"]
 * ```
 *
 * @category decoding
 * @since 0.2.0
 */
export const decodeDecisions = (value: unknown): Result.Result<ReadonlyArray<Decision>, DecisionRefused> => {
  if (!Array.isArray(value)) {
    const issues = [{ path: [], expected: "expected a list of decisions", problem: "invalid" } as const]
    return Result.fail(new DecisionRefused({ ...callIdOf(value), reason: "malformed", issues }))
  }
  const decisions: Array<Decision> = []
  for (const [index, element] of value.entries()) {
    const decoded = read(element)
    if (Result.isFailure(decoded)) {
      const issues = fromIssue(decoded.failure.issue).map((issue) => ({ ...issue, path: [index, ...issue.path] }))
      return Result.fail(new DecisionRefused({ ...callIdOf(element), reason: "malformed", issues }))
    }
    decisions.push(decoded.success)
  }
  return Result.succeed(decisions)
}

/**
 * Says who decided.
 *
 * @category models
 * @since 0.2.0
 */
export interface DecidedBy {
  readonly by?: string
}

const subject = (call: PendingCall, options: DecidedBy | undefined) => ({
  callId: call.callId,
  argumentsHash: call.argumentsHash,
  ...(options?.by === undefined ? undefined : { by: options.by })
})

/**
 * Runs the call with the arguments that it waits with, and no others.
 *
 * **Example** (A decision that names who made it)
 *
 * ```ts
 * import { Approval } from "@recourse/core"
 *
 * const decide = (call: Approval.PendingCall): Approval.Decision => Approval.approve(call, { by: "ada" })
 * ```
 *
 * @category constructors
 * @since 0.2.0
 */
export const approve = (call: PendingCall, options?: DecidedBy): Decision => ({
  _tag: "Approve",
  ...subject(call, options)
})

/**
 * Runs the call with other arguments: they are checked by the tool's schema and the policies like the model's own.
 *
 * @category constructors
 * @since 0.2.0
 */
export const edit = (
  call: PendingCall,
  args: Readonly<Record<string, Schema.Json>>,
  options?: DecidedBy
): Decision => ({ _tag: "Edit", ...subject(call, options), arguments: args })

/**
 * Does not run the call. The model receives the reason.
 *
 * **Example** (A rejection with its reason)
 *
 * ```ts
 * import { Approval } from "@recourse/core"
 *
 * const decide = (call: Approval.PendingCall): Approval.Decision =>
 *   Approval.reject(call, "Refunds above 100 euros need a receipt.", { by: "ada" })
 * ```
 *
 * @category constructors
 * @since 0.2.0
 */
export const reject = (call: PendingCall, reason: string, options?: DecidedBy): Decision => ({
  _tag: "Reject",
  ...subject(call, options),
  reason
})

/**
 * The page could not execute a call of a client tool. `error`: JSON of the tool's `failure` schema; other JSON is a
 * `ClientToolFailed`. A call that waits for an approval is rejected instead.
 *
 * @category constructors
 * @since 0.2.0
 */
export const fail = (call: PendingCall, error: Schema.Json, options?: DecidedBy): Decision => ({
  _tag: "Fail",
  ...subject(call, options),
  error
})

/**
 * Does not run the call. Its result is `result`, in JSON of the tool's `success` schema.
 *
 * @category constructors
 * @since 0.2.0
 */
export const respond = (call: PendingCall, result: Schema.Json, options?: DecidedBy): Decision => ({
  _tag: "Respond",
  ...subject(call, options),
  result
})

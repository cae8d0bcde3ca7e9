/**
 * Parts of the schemas of events that each run uses. `AgentEvent` exports them too.
 *
 * They are in a module of their own because an agent does not load the schemas of all events.
 */
import * as Schema from "effect/Schema"

/**
 * The version of the events. It grows when an event goes, or a field of one changes its meaning.
 *
 * @category constants
 * @since 0.2.0
 */
export const version = 2

/**
 * A call that waits: a `PendingCall` of `Approval`, which decisions are made about. Times are milliseconds since the epoch.
 *
 * @category schemas
 * @since 0.2.0
 */
export const Pending = Schema.Struct({
  /** Of a call within an agent that is a tool: the id of the tool's call, a slash, and the call's own. */
  callId: Schema.String,
  tool: Schema.String,
  /** The exact arguments of the tool. */
  arguments: Schema.Record(Schema.String, Schema.Json),
  /** SHA-256 of the arguments as JSON with sorted keys, in hex. */
  argumentsHash: Schema.String,
  /** Reasons of the policies for the approval. */
  reasons: Schema.Array(Schema.String),
  /** `approval_expired`: there was an approval, and it came too late. `client_tool`: the page executes it. */
  code: Schema.Literals(["approval_required", "approval_expired", "client_tool"]),
  /** The declared effects of a client tool. The outcome of its call without a result is unknown, unless it is a read or idempotent. */
  effects: Schema.optionalKey(Schema.Literals(["read", "idempotent", "write"])),
  /** Compensation of the call: `declared` by its tool's `compensate`, `not_needed` for a tool that reads. Left out: it is irreversible. */
  compensation: Schema.optionalKey(Schema.Literals(["declared", "not_needed"])),
  /** The fixer whose arguments they are, if they are not the model's own. */
  fixedBy: Schema.optionalKey(Schema.String),
  requestedAt: Schema.Number,
  /** An approval that comes later asks again. One without end has the last time that a `Date` can hold. */
  expiresAt: Schema.Number
})

/** Decisions of people about calls that wait. */
import * as Schema from "effect/Schema"
import type { PendingCall } from "./snapshot.ts"

export const about = {
  callId: Schema.String,
  /** Hash of the arguments that the decision was made about. */
  argumentsHash: Schema.String,
  /** Who decided, for the audit. */
  by: Schema.optionalKey(Schema.String)
}

/** What a person decided about a call that waits. JSON, to come from anywhere. */
export const Decision = Schema.Union([
  Schema.TaggedStruct("Approve", about),
  Schema.TaggedStruct("Edit", { ...about, arguments: Schema.Record(Schema.String, Schema.Json) }),
  Schema.TaggedStruct("Reject", { ...about, reason: Schema.String }),
  Schema.TaggedStruct("Respond", { ...about, result: Schema.Json })
])

/** What a person decided about a call that waits. */
export type Decision = typeof Decision.Type

/** Says who decided. */
export interface By {
  readonly by?: string
}

const subject = (call: PendingCall, options: By | undefined) => ({
  callId: call.callId,
  argumentsHash: call.argumentsHash,
  ...(options?.by === undefined ? undefined : { by: options.by })
})

/** Runs the call with the arguments that it waits with, and no others. */
export const approve = (call: PendingCall, options?: By): Decision => ({ _tag: "Approve", ...subject(call, options) })

/** Runs the call with other arguments: they are checked by the tool's schema and the policies like the model's own. */
export const edit = (
  call: PendingCall,
  args: { readonly [key: string]: Schema.Json },
  options?: By
): Decision => ({ _tag: "Edit", ...subject(call, options), arguments: args })

/** Does not run the call. The model is told the reason. */
export const reject = (call: PendingCall, reason: string, options?: By): Decision => ({
  _tag: "Reject",
  ...subject(call, options),
  reason
})

/** Does not run the call: this is its result, as JSON of the tool's `success` schema. */
export const respond = (call: PendingCall, result: Schema.Json, options?: By): Decision => ({
  _tag: "Respond",
  ...subject(call, options),
  result
})

// --- each snapshot once ---------------------------------------------------------------------------------------------

/**
 * Waiting calls within a tool's executor: resuming makes the outer call again and finds the decision for the inner one.
 */
import type * as Schema from "effect/Schema"
import type { Decision } from "../approval/decision.ts"
import type { BegunCall, NestedRun, PendingCall, WaitingWithin } from "../approval/snapshot.ts"
import * as Arguments from "../call/arguments.ts"
import type { Approval, CallRecord } from "../call/record.ts"
import { canonicalJson } from "../foundation/canonicalJson.ts"

/** What is needed to make a call again within which `of` waits. */
export const waitingWithin = (root: CallRecord, of: CallRecord, begun: ReadonlyArray<BegunCall>): WaitingWithin => {
  const args = root.requested?.arguments
  const read = Arguments.read(args)
  return {
    callId: root.callId,
    arguments: args as Schema.Json,
    admitted: read._tag === "Success" && root.admitted.includes(canonicalJson(read.success)),
    ...(root.fixedBy === undefined ? undefined : { fixedBy: root.fixedBy }),
    identity: of.identity ?? of.callId,
    approvals: (root.approvals ?? []).map(({ callId: _, ...approval }) => approval) as WaitingWithin["approvals"],
    ...(begun.length === 0 ? undefined : { begun })
  }
}

/** What waits within a call: an agent that is its tool, or a call that its tool makes. */
export interface WaitsWithin {
  readonly nested?: NestedRun | undefined
  readonly within?: WaitingWithin | undefined
}

/** Whether something was done within a call that waits: by the tool, or by the agent that is the tool. */
export const isDoneInPart = ({ nested, within }: WaitsWithin): boolean =>
  nested?.doneInPart === true || within?.begun?.some(({ outcome }) => outcome !== undefined) === true

/** The arguments that a call may be made with again without anybody being asked. */
export const admittedBefore = ({ admitted, arguments: args }: WaitingWithin): string | undefined => {
  const read = Arguments.read(args)
  return admitted && read._tag === "Success" ? canonicalJson(read.success) : undefined
}

/** What is decided about the calls within a call, with what is decided about the one that waits. */
export const approvalsWith = (
  { approvals, identity }: WaitingWithin,
  pending: PendingCall,
  decision: Exclude<Decision, { readonly _tag: "Reject" }>
): ReadonlyArray<Approval> => {
  const isEdited = decision._tag === "Edit"
  const fixedBy = isEdited ? decision.by ?? "approval" : pending.fixedBy
  return [...approvals, {
    identity,
    callId: pending.callId,
    arguments: isEdited ? decision.arguments : pending.arguments,
    ...(fixedBy === undefined ? undefined : { fixedBy }),
    ...(decision._tag === "Respond" ? { response: { result: decision.result } } : undefined)
  }]
}

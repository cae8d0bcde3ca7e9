/**
 * Waiting calls: the question about a call, and the state of one within a tool's executor. Resuming makes the outer call
 * again and finds the decision for the inner one.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import type { Decision } from "../../approval/decision.ts"
import { approvalExpiry, type CallBeforePause, type PendingCall, type WaitingWithin } from "../../approval/snapshot.ts"
import * as Arguments from "../../call/arguments/toolArguments.ts"
import type { Approval } from "../../call/record/admission.ts"
import { type CallRecord, identityOf, type Stop } from "../../call/record/record.ts"
import { hashOf } from "../../foundation/digest.ts"
import { canonicalJson } from "../../foundation/json/canonicalJson.ts"
import type { RequestedCall } from "../../run/callResult.ts"
import type { RoundContext } from "../roundContext.ts"

/** Returns the question to a person, or to the page, about a call that waits. */
export const pendingOf = (
  { approvalTimeToLive }: Pick<RoundContext, "approvalTimeToLive">,
  raw: RequestedCall,
  stop: Stop & { readonly _tag: "Waiting" }
): Effect.Effect<PendingCall> =>
  Effect.zipWith(
    Clock.currentTimeMillis,
    hashOf(stop.arguments),
    (now, argumentsHash): PendingCall => ({
      callId: stop.of?.callId ?? raw.id,
      tool: stop.of?.attempts.tool?.name ?? raw.name,
      arguments: stop.arguments as Record<string, Schema.Json>,
      argumentsHash,
      reasons: stop.reasons,
      code: stop.client === undefined ? "approval_required" : "client_tool",
      ...(stop.client?.effects === undefined ? undefined : { effects: stop.client.effects }),
      ...(stop.compensation === undefined ? undefined : { compensation: stop.compensation }),
      ...(stop.fixedBy === undefined ? undefined : { fixedBy: stop.fixedBy }),
      requestedAt: now,
      expiresAt: approvalExpiry(now, stop.client?.timeout ?? approvalTimeToLive)
    })
  )

/** Decisions about calls within a call. */
export const decidedWithin = ({ admission: { approvals = [] } }: CallRecord): WaitingWithin["approvals"] =>
  approvals.map(({ callId: _, ...approval }) => approval) as WaitingWithin["approvals"]

/**
 * Returns the data to repeat a call within which `of` waits. `given`: the arguments of the call, if it has not been
 * attempted.
 */
const waitingWithin = (
  root: CallRecord,
  of: CallRecord,
  startedCalls: ReadonlyArray<CallBeforePause>,
  given: unknown
): WaitingWithin => {
  const args = root.attempts.requested === undefined ? given : root.attempts.requested.arguments
  const read = Arguments.read(args)
  return {
    callId: root.callId,
    arguments: args as Schema.Json,
    admitted: read._tag === "Success" && root.admission.admitted.includes(canonicalJson(read.success)),
    ...(root.recovering.fixedBy === undefined ? undefined : { fixedBy: root.recovering.fixedBy }),
    identity: identityOf(of),
    approvals: decidedWithin(root),
    ...(startedCalls.length === 0 ? undefined : { begun: startedCalls })
  }
}

/**
 * Returns the stored state of a waiting call: for an inner call made by its tool, or for itself behind the writes of
 * its recovery.
 */
export const waitsWithin = (
  root: CallRecord,
  { startedCalls, of = root }: Stop & { readonly _tag: "Waiting" },
  given: unknown
): { readonly within?: WaitingWithin } =>
  of === root && startedCalls.length === 0 && root.admission.approvals === undefined
    ? {}
    : { within: waitingWithin(root, of, startedCalls, given) }

/** True if the call itself waits. */
export const isItself = ({ callId, identity }: WaitingWithin): boolean => identity === callId

/**
 * Arguments with which a call that waits itself is repeated: it may start by the person's decision, even if earlier
 * calls are not replayed.
 */
export const goingOn = (within: WaitingWithin | undefined, args: WaitingWithin["approvals"][number]["arguments"]) =>
  within === undefined ? undefined : {
    approvals: [...within.approvals, { identity: within.identity, arguments: args }],
    startedCalls: within.begun
  }

/** Returns the arguments with which a call may be repeated without asking a person. */
export const admittedBefore = ({ admitted, arguments: args }: WaitingWithin): string | undefined => {
  const read = Arguments.read(args)
  return admitted && read._tag === "Success" ? canonicalJson(read.success) : undefined
}

/** Returns the decisions about inner calls, including the one about the waiting call. */
export const approvalsWith = (
  { approvals, identity }: WaitingWithin,
  pending: PendingCall,
  decision: Exclude<Decision, { readonly _tag: "Reject" }>,
  isLate = false
): ReadonlyArray<Approval> => {
  const isEdited = decision._tag === "Edit"
  const fixedBy = isEdited ? decision.by ?? "approval" : pending.fixedBy
  return [...approvals, {
    identity,
    callId: pending.callId,
    arguments: isEdited ? decision.arguments : pending.arguments,
    ...(fixedBy === undefined ? undefined : { fixedBy }),
    ...(decision._tag === "Respond" ? { response: { result: decision.result } } : undefined),
    ...(decision._tag === "Fail" ? { failed: { error: decision.error, isLate } } : undefined)
  }]
}

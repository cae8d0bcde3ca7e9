/** Announces the outcome of a call to the audit and to listeners. */
import type * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import type { ToolResult as ToolResultSchema } from "../../AgentEventSchema.ts"
import type { PendingCall } from "../approval/snapshot.ts"
import type { Decision as ApprovalDecision } from "../approval/decision.ts"
import type { Decision } from "../run/auditRecord.ts"
import { audit } from "./writeAudit.ts"
import { idWithin, outerCallsOf } from "../path/path.ts"
import type { ToolFailure } from "../projection/toolFailure.ts"
import { type CallResult, codeOf, type Verdict } from "../run/callResult.ts"
import type { PendingResult } from "../projection/pendingTask.ts"
import { behind } from "../foundation/effect/sequence.ts"
import { emit, type Run } from "../run/run.ts"
import { takeReported } from "../run/state/runState.ts"

/** Codes of failures that are for the audit whatever else is known of them. */
const auditedCodes: ReadonlyMap<string, Decision> = new Map([
  ["permission_denied", "denied"],
  ["outcome_unknown", "outcome_unknown"],
  ["idempotency_conflict", "idempotency_conflict"],
  ["authentication", "authentication"],
  ["not_run", "cancelled"]
])

/** Returns the audit's facts of a result. */
export const verdictOf = (result: CallResult): Verdict | undefined => {
  const decision = result.isFailure ? auditedCodes.get(codeOf(result) ?? "") : undefined
  return result.verdict ?? (decision === undefined ? undefined : { decision })
}

const audited = (run: Run, { call, repaired }: CallResult, verdict: Verdict): Effect.Effect<void> =>
  audit(run, verdict.of ?? { id: call.id, tool: call.name, args: repaired?.arguments ?? call.params }, verdict)

const pendingTask = (run: Run, { call, encoded, pendingOf }: CallResult): Effect.Effect<void> =>
  pendingOf === undefined ? Effect.void : emit(run, () => ({
    _tag: "ToolPending",
    callId: call.id,
    tool: call.name,
    ...outerCallsOf(call.id),
    taskId: (encoded as PendingResult).task_id
  }))

/** A call has a result: for the audit and for listeners. An audit that fails ends the run, and listeners have the result before. */
export const announce = (run: Run, result: CallResult): Effect.Effect<void> => {
  const verdict = verdictOf(result)
  return verdict === undefined
    ? announceResult(run, result)
    : behind(audited(run, result, verdict), () => announceResult(run, result))
}

/** Announces results in turn. Behind an audit that fails they are for listeners alone: a store that hangs would hold up each of them. */
export const announceEach = (
  run: Run,
  results: ReadonlyArray<CallResult>,
  start: (result: CallResult) => Effect.Effect<void>
): Effect.Effect<void> =>
  results.length === 0 ? Effect.void : Effect.suspend(() => {
    let broken: Cause.Cause<never> | undefined
    const one = (result: CallResult) =>
      broken !== undefined
        ? announceResult(run, result)
        : Effect.catchCause(announce(run, result), (cause) => Effect.sync(() => void (broken = cause)))
    return Effect.andThen(
      Effect.forEach(results, (result) => Effect.flatMapEager(start(result), () => one(result)), { discard: true }),
      Effect.suspend(() => broken === undefined ? Effect.void : Effect.failCause(broken))
    )
  })

/** Emits the result of a call. Most runs have no listeners, and build no event here. */
export const announceResult = (run: Run, result: CallResult): Effect.Effect<void> =>
  run.audience === undefined ? Effect.void : emitResult(run, result)

/** The user's part of a failure. */
const userFields = (code: string, { message_for_user: userMessage, retry_after_ms }: ToolFailure) => ({
  code,
  userMessage,
  ...(retry_after_ms === undefined ? undefined : { retryAfter: retry_after_ms })
})

type ToolResult = typeof ToolResultSchema.Type

/** The write of a call, for listeners that are given details. */
const reportedWrite = (run: Run, callId: string): Pick<ToolResult, "write"> | undefined => {
  const write = takeReported(run, callId)
  if (write === undefined) return undefined
  const { compensable, hasCompensation, known } = write
  return {
    write: {
      known,
      ...(hasCompensation ? { hasCompensation } : undefined),
      ...(compensable === undefined ? undefined : { compensable: compensable as Schema.Json })
    }
  }
}

const emitResult = (run: Run, result: CallResult): Effect.Effect<void> =>
  Effect.flatMapEager(pendingTask(run, result), () =>
    emit(run, () => {
      const code = codeOf(result)
      const { call, degraded, encoded, entry, isFailure, isInPlaceOfUnknown, whole } = result
      return {
        _tag: "ToolResult",
        callId: call.id,
        tool: call.name,
        ...outerCallsOf(call.id),
        isFailure,
        ...(code === undefined ? undefined : userFields(code, encoded as ToolFailure)),
        ...(isInPlaceOfUnknown === true ? { code: "outcome_unknown" } : undefined),
        ...(code === "permission_denied"
          ? { deniedBy: result.verdict?.decision === "rejected" ? "person" as const : "policy" as const }
          : undefined),
        ...(degraded === undefined ? undefined : { degraded }),
        ...(entry === undefined ? undefined : { entry }),
        ...reportedWrite(run, call.id),
        result: whole ?? encoded
      }
    }))

/** The id by which a call is decided on at the outermost agent. */
const pendingIdOf = ({ parent, start: { outerCall } }: Run, callId: string): string => {
  const id = outerCall === undefined ? callId : idWithin(outerCall.id, callId)
  return parent === undefined ? id : pendingIdOf(parent, id)
}

/** A call waits for a person. */
export const announcePending = (run: Run, pending: PendingCall): Effect.Effect<void> =>
  Effect.andThen(
    audit(run, { id: pending.callId, tool: pending.tool, args: pending.arguments }, {
      decision: pending.code === "approval_expired" ? "approval_expired" : "approval_requested",
      reason: pending.reasons.length === 0 ? undefined : pending.reasons.join("; "),
      security: run.reading.taintedBy.length > 0
    }),
    emit(run, () => ({
      _tag: "ApprovalRequested",
      ...pending,
      pendingCallId: pendingIdOf(run, pending.callId),
      arguments: JSON.stringify(pending.arguments)
    }))
  )

const decisions = { Approve: "approved", Edit: "edited", Reject: "rejected", Respond: "responded" } as const

/** Emits the decision of a person about a call that waited. Listeners hear it before the call is resumed. */
export const announceDecided = (
  run: Run,
  pending: PendingCall,
  decision: Exclude<ApprovalDecision, { readonly _tag: "Fail" }>
): Effect.Effect<void> =>
  emit(run, () => {
    const before = JSON.stringify(pending.arguments)
    return {
      _tag: "ApprovalDecided",
      callId: pending.callId,
      tool: pending.tool,
      pendingCallId: pendingIdOf(run, pending.callId),
      decision: decisions[decision._tag],
      ...(decision.by === undefined ? undefined : { by: decision.by }),
      ...(decision._tag === "Reject" ? { reason: decision.reason } : undefined),
      before,
      ...(decision._tag === "Approve"
        ? { arguments: before }
        : decision._tag === "Edit"
        ? { arguments: JSON.stringify(decision.arguments) }
        : undefined)
    }
  })

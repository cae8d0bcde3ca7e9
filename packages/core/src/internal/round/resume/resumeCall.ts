/** Resumes calls that waited for a person. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Failures from "../../projection/failures.ts"
import type * as Tool from "../../tool/tool.ts"
import * as Arguments from "../../call/arguments/toolArguments.ts"
import type { Decision } from "../../approval/decision.ts"
import { DecisionRefused } from "../../approval/outcome.ts"
import { approvalExpiry, type NestedRun, type PendingCall, type WaitingWithin } from "../../approval/snapshot.ts"
import { announceDecided } from "../../result/announce.ts"
import { audit } from "../../result/writeAudit.ts"
import { counted, type RoundContext } from "../roundContext.ts"
import type { CallOutcome, CallResult, RequestedCall } from "../../run/callResult.ts"
import { endOf, type Resumption } from "./withdrawQuestions.ts"
import type { Continuation } from "../../call/record/admission.ts"
import { canonicalJson } from "../../foundation/json/canonicalJson.ts"
import { failClientCall, failureGiven } from "./failClientCall.ts"
import { delivered, inCallSpan, runCall } from "../runCall.ts"
import { isDoneInPart } from "../../approval/waitsWithin.ts"
import { admittedBefore, approvalsWith, goingOn, isItself } from "./pausedWithin.ts"
import { modelOutputOf } from "../../tool/modelOutput.ts"
import type { AgentTool } from "../../tool/agentTool.ts"
import { inTimeKey } from "../../path/entryKeys.ts"
import type { Run } from "../../run/run.ts"

/** One for each question, and for each time that it is asked. */
const keyOf = ({ start: { place } }: Run, { callId, requestedAt }: PendingCall): string =>
  inTimeKey(place, callId, requestedAt)

/**
 * True if an approved call may continue, because the approval was in time: now, or when an earlier execution of the run
 * resumed it.
 */
export const isInTime = (run: Run, pending: PendingCall, now: number): boolean =>
  now <= pending.expiresAt || run.log?.find("wait", keyOf(run, pending)) !== undefined

/** Records that it was in time, before the call continues: its later work needs no further approval. */
const recordInTime = (run: Run, pending: PendingCall): Effect.Effect<void> => {
  const { log } = run
  const key = keyOf(run, pending)
  return log === undefined || log.isCancelledReplay || log.find("wait", key) !== undefined
    ? Effect.void
    : log.record("wait", key, true)
}

/** The arguments that a person was shown, or those of the outer call, if they were not the model's own. */
const shownAs = ({ arguments: args, fixedBy }: PendingCall | WaitingWithin): CallResult["repaired"] =>
  fixedBy === undefined ? undefined : { arguments: Arguments.toText(args), by: fixedBy }

const rejectedAs = (within: WaitingWithin | undefined) =>
  isDoneInPart({ within }) ? Failures.rejectedInPart : Failures.rejected

/** `within`: the rejected inner call, if it is not the call itself. */
const reject = (
  calls: RoundContext,
  raw: RequestedCall,
  { by, reason }: Extract<Decision, { readonly _tag: "Reject" }>,
  of: PendingCall,
  within: WaitingWithin | undefined
): Effect.Effect<CallOutcome, unknown, unknown> =>
  inCallSpan(
    calls,
    raw,
    Effect.suspend(() => {
      const { run, run: { writes: { compensatesWhenRejected, completed } } } = calls
      completed?.reject(run)
      const compensates = compensatesWhenRejected && completed !== undefined && completed.newestFirst(run).length > 0
      return delivered(calls, {
        ...counted(calls, raw, rejectedAs(within)(reason, calls.run.id, calls.shown.user, compensates)),
        repaired: shownAs(within === undefined || isItself(within) ? of : within),
        verdict: {
          decision: "rejected",
          by,
          reason,
          of: { id: of.callId, tool: of.tool, args: of.arguments }
        }
      })
    }),
    { resumedWith: raw.params }
  )

/** Decodes a person's result of a tool, by the JSON of its schema. */
export const readResult = (
  { success }: Tool.Any,
  { callId, result }: Extract<Decision, { readonly _tag: "Respond" }>
): Effect.Effect<unknown, DecisionRefused, unknown> =>
  Effect.mapError(
    Schema.decodeUnknownEffect(Schema.toCodecJson(success))(result),
    () => new DecisionRefused({ callId, reason: "invalid_result" })
  )

const respond = (
  calls: RoundContext,
  raw: RequestedCall,
  { tool }: AgentTool,
  pending: PendingCall,
  decision: Extract<Decision, { readonly _tag: "Respond" }>
): Effect.Effect<CallOutcome, unknown, unknown> =>
  inCallSpan(
    calls,
    raw,
    Effect.flatMap(readResult(tool, decision), (value) =>
      delivered(calls, {
        call: raw,
        isFailure: false,
        encoded: decision.result,
        modelOutput: modelOutputOf(tool.definition, value),
        repaired: shownAs(pending),
        verdict: { decision: "responded", by: decision.by }
      }, tool.info.client === undefined ? undefined : tool.info)),
    { resumedWith: raw.params }
  )

/** Runs a call as a person has approved it, with the arguments that it was approved for. */
const run = (
  calls: RoundContext,
  raw: RequestedCall,
  tool: AgentTool,
  pending: PendingCall,
  decision: Extract<Decision, { readonly _tag: "Approve" | "Edit" }>,
  within: WaitingWithin | undefined
): Effect.Effect<CallOutcome, unknown, unknown> => {
  const isEdited = decision._tag === "Edit"
  const args = isEdited ? decision.arguments : pending.arguments
  const fixedBy = isEdited ? decision.by ?? "approval" : pending.fixedBy
  return Effect.andThen(
    audit(
      calls.run,
      { id: raw.id, tool: raw.name, args },
      { decision: isEdited ? "edited" : "approved", by: decision.by }
    ),
    runCall(calls, tool, raw, {
      arguments: args,
      approved: canonicalJson(args),
      fixedBy,
      ...goingOn(within, args as WaitingWithin["approvals"][number]["arguments"])
    })
  )
}

/** Resumes a call of a client tool with the page's answer. */
const resumeClientCall = (
  calls: RoundContext,
  raw: RequestedCall,
  tool: AgentTool,
  pending: PendingCall,
  decision: Exclude<Decision, { readonly _tag: "Reject" }>,
  { isLate, other, within }: {
    readonly isLate: boolean
    readonly within: WaitingWithin | undefined
    readonly other: WaitingWithin | undefined
  }
): Effect.Effect<CallOutcome, unknown, unknown> => {
  const given = isLate || decision._tag !== "Respond" ? failureGiven(decision, isLate) : decision
  if (other !== undefined) return resumeWithin(calls, raw, tool, other, pending, given, isLate)
  return given._tag === "Fail"
    ? failClientCall(calls, raw, tool, pending, { error: given.error, isLate }, within)
    : respond(calls, raw, tool, pending, given)
}

/** Runs a call of an agent again, which resumes at its pause. The call itself was admitted before. */
const resumeNested = (
  calls: RoundContext,
  raw: RequestedCall,
  tool: AgentTool,
  { approvals, arguments: args, begun: startedCalls, doneInPart, fixedBy }: NestedRun,
  continuation: Continuation
): Effect.Effect<CallOutcome, unknown, unknown> =>
  runCall(calls, tool, raw, {
    arguments: args,
    approved: canonicalJson(args),
    fixedBy,
    doneInPart,
    approvals,
    startedCalls,
    continuation
  })

/** Makes a call again within which another tool's call waited, which now runs as was decided. */
const resumeWithin = (
  calls: RoundContext,
  raw: RequestedCall,
  tool: AgentTool,
  within: WaitingWithin,
  pending: PendingCall,
  decision: Exclude<Decision, { readonly _tag: "Reject" }>,
  isLate = false
): Effect.Effect<CallOutcome, unknown, unknown> => {
  const { arguments: args, fixedBy } = within
  const verdicts = { Approve: "approved", Edit: "edited", Respond: "responded", Fail: "responded" } as const
  return Effect.andThen(
    audit(
      calls.run,
      {
        id: pending.callId,
        tool: pending.tool,
        args: decision._tag === "Edit" ? decision.arguments : pending.arguments
      },
      { decision: verdicts[decision._tag], by: decision.by }
    ),
    runCall(calls, tool, raw, {
      arguments: args,
      approved: admittedBefore(within),
      fixedBy,
      approvals: approvalsWith(within, pending, decision, isLate),
      startedCalls: within.begun
    })
  )
}

/** Resumes a waiting call with its decision. Without a decision, or with a late one, it still waits. */
export const resumeCall = (
  calls: RoundContext,
  raw: RequestedCall,
  { continuation, decision, waiting }: Resumption
): Effect.Effect<CallOutcome, unknown, unknown> =>
  Effect.flatMap(Clock.currentTimeMillis, (now) => {
    const tool = calls.tools.get(raw.name)
    if (tool === undefined) return Effect.succeed<CallOutcome>(waiting)
    if (waiting.nested !== undefined && continuation !== undefined) {
      // No outer component takes part in that decision.
      if (calls.run.start.isOver) return Effect.as(endOf(calls.run, tool.tool.ends, waiting.nested), waiting)
      // In a cancelled run, it resumes only to compensate its own writes.
      return continuation.decisions.length === 0 && calls.run.log?.isCancelledReplay !== true
        ? Effect.succeed<CallOutcome>(waiting)
        : resumeNested(calls, raw, tool, waiting.nested, continuation)
    }
    const pending = waiting.pending[0]
    if (pending === undefined || decision === undefined) return Effect.succeed<CallOutcome>(waiting)
    const { within } = waiting
    const other = within !== undefined && isItself(within) ? undefined : within
    if (decision._tag === "Reject") {
      return Effect.flatMapEager(announceDecided(calls.run, pending, decision), () =>
        reject(calls, raw, decision, pending, within))
    }
    if (pending.code === "client_tool") {
      const isLate = !isInTime(calls.run, pending, now)
      return Effect.flatMapEager(isLate ? Effect.void : recordInTime(calls.run, pending), () =>
        resumeClientCall(calls, raw, tool, pending, decision, { isLate, other, within }))
    }
    // A failure is of a call that the page executes.
    if (decision._tag === "Fail") {
      return Effect.succeed<CallOutcome>(waiting)
    }
    if (decision._tag === "Respond") {
      return Effect.flatMapEager(announceDecided(calls.run, pending, decision), () =>
        other === undefined
          ? respond(calls, raw, tool, pending, decision)
          : resumeWithin(calls, raw, tool, other, pending, decision))
    }
    if (isInTime(calls.run, pending, now)) {
      const decided = Effect.flatMapEager(recordInTime(calls.run, pending), () =>
        announceDecided(calls.run, pending, decision))
      return Effect.flatMapEager(decided, () =>
        other === undefined
          ? run(calls, raw, tool, pending, decision, within)
          : resumeWithin(calls, raw, tool, other, pending, decision))
    }
    return Effect.succeed<CallOutcome>({
      ...waiting,
      pending: [{
        ...pending,
        code: "approval_expired",
        requestedAt: now,
        expiresAt: approvalExpiry(now, calls.approvalTimeToLive)
      }]
    })
  })

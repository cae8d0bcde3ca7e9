/** One call of a tool that is known: from the model's arguments to a result, within a span and past the delivery. */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import type { PendingCall } from "../Approval.ts"
import * as ErrorProjection from "../ErrorProjection.ts"
import { isTagged } from "../recovery/tags.ts"
import { type Call, forAgent } from "../ToolCall.ts"
import { Pending } from "../ToolError.ts"
import type * as Tool from "../Tool.ts"
import * as Arguments from "./arguments.ts"
import { type Calls, counted, delivered, type Outcome } from "./calls.ts"
import type { CallRecord, GoingOn, Stop } from "./callRecord.ts"
import { CallStopped } from "./gate.ts"
import { hashOf } from "./hash.ts"
import { markOf, pendingResult } from "./marks.ts"
import type { RawCall } from "./modelCall.ts"
import { waiting } from "./nested.ts"
import type { AgentTool } from "./pipeline.ts"
import { before, emit } from "./run.ts"
import { inSpan } from "./span.ts"
import type { CallResult } from "./transcript.ts"

/** With what a call is made: as the model made it, or as a person decided. */
export interface Start {
  readonly arguments: unknown
  /** The arguments that a person has approved, as canonical JSON. */
  readonly approved?: string
  readonly fixedBy?: string
  /** What the agent that is the tool goes on with. */
  readonly goingOn?: GoingOn
}

const pendingOf = (calls: Calls, raw: RawCall, stop: Stop & { readonly _tag: "Waiting" }) =>
  Effect.zipWith(
    Clock.currentTimeMillis,
    hashOf(stop.arguments),
    (now, argumentsHash): PendingCall => ({
      callId: raw.id,
      tool: raw.name,
      arguments: stop.arguments as Record<string, Schema.Json>,
      argumentsHash,
      reasons: stop.reasons,
      code: "approval_required",
      ...(stop.fixedBy === undefined ? undefined : { fixedBy: stop.fixedBy }),
      requestedAt: now,
      expiresAt: now + calls.approvalTimeToLive
    })
  )

/** What a call that may not run gives, whatever its recovery made of it. Fails with what is to end the run. */
const stopped = (calls: Calls, raw: RawCall, { fixedBy }: CallRecord, stop: Stop): Effect.Effect<Outcome, unknown> => {
  const type = stop._tag === "Denied"
    ? "permission_denied"
    : stop._tag === "Refused"
    ? stop.error._tag
    : "approval_required"
  return Effect.andThen(Effect.annotateCurrentSpan("error.type", type), stoppedAs(calls, raw, fixedBy, stop))
}

const stoppedAs = (
  calls: Calls,
  raw: RawCall,
  fixedBy: string | undefined,
  stop: Stop
): Effect.Effect<Outcome, unknown> => {
  switch (stop._tag) {
    case "Denied":
      return delivered(calls, {
        ...counted(calls, raw, ErrorProjection.denied(calls.run.id, calls.shown.user)),
        verdict: { decision: "denied", by: stop.policy, reason: stop.reason, security: calls.run.taintedBy.length > 0 }
      })
    case "Waiting":
      return Effect.map(pendingOf(calls, raw, stop), (pending): Outcome => ({ _tag: "Waiting", pending: [pending] }))
    case "Nested":
      return Effect.succeed(waiting(raw, fixedBy, stop))
    case "Refused":
      return Effect.fail(stop.error)
  }
}

/** Whether something else than a stopped call ended an effect, such as a used-up budget. */
export const endedOtherwise = (cause: Cause.Cause<unknown>): boolean =>
  cause.reasons.some((reason) =>
    Cause.isInterruptReason(reason) || (Cause.isDieReason(reason) && !(reason.defect instanceof CallStopped))
  )

const repairedOf = ({ record }: Call): CallResult["repaired"] =>
  record.fixedBy === undefined || record.fixedArguments === undefined
    ? undefined
    : { arguments: record.fixedArguments, by: record.fixedBy }

/** The result of a call that succeeded. */
export const succeeded = (
  { tool }: AgentTool,
  raw: RawCall,
  call: Call,
  { encoded, value }: Tool.Checked<unknown>
): CallResult => {
  const { degraded, substitutedBy } = call.record
  return {
    call: raw,
    isFailure: false,
    encoded,
    modelOutput: tool.definition.toModelOutput?.(value),
    repaired: repairedOf(call),
    degraded: degraded && markOf(degraded),
    verdict: substitutedBy === undefined ? undefined : { decision: "substituted", by: substitutedBy }
  }
}

/** The result of a call that has begun a task. */
export const begun = ({ statusOf, tool }: AgentTool, raw: RawCall, call: Call, pending: Pending): CallResult => ({
  call: raw,
  isFailure: false,
  encoded: pendingResult(pending, statusOf === undefined ? tool.status?.name : raw.name),
  modelOutput: undefined,
  repaired: repairedOf(call),
  pendingOf: statusOf ?? raw.name
})

/** Begins a call: the effect runs it with all its recovery, once. Fails with what is to end the run. */
export const execute = (
  calls: Calls,
  tool: AgentTool,
  raw: RawCall,
  start: Start
): Effect.Effect<Outcome, unknown, unknown> => {
  const { gate, run, shown } = calls
  const call = forAgent({
    id: raw.id,
    arguments: start.arguments,
    gate,
    approved: start.approved,
    waitsFor: tool.tool.info,
    goingOn: start.goingOn
  })
  const { record } = call
  if (start.fixedBy !== undefined) {
    record.fixedBy = start.fixedBy
    record.fixedArguments = Arguments.toText(start.arguments)
  }
  return Effect.matchCauseEffect(tool.run(call), {
    onSuccess: (checked) =>
      record.stop === undefined
        ? delivered(calls, succeeded(tool, raw, call, checked), tool.tool.info)
        : stopped(calls, raw, record, record.stop),
    onFailure: (cause): Effect.Effect<Outcome, unknown> => {
      if (record.stop !== undefined && !endedOtherwise(cause)) return stopped(calls, raw, record, record.stop)
      const error = cause.reasons.find(Cause.isFailReason)?.error
      if (error instanceof Pending) return delivered(calls, begun(tool, raw, call, error), tool.tool.info)
      if (!isTagged(error, ["Escalation"])) return Effect.failCause(cause)
      const failure = ErrorProjection.toolFailure(error, run.id, shown.user)
      return Effect.andThen(
        Effect.annotateCurrentSpan("error.type", failure.code),
        delivered(calls, counted(calls, raw, failure, repairedOf(call)), tool.tool.info)
      )
    }
  })
}

/** Runs a call where it is seen. */
export const observed = (
  { run, shown }: Calls,
  raw: RawCall,
  effect: Effect.Effect<Outcome, unknown, unknown>
): Effect.Effect<Outcome, unknown, unknown> => {
  const spanned = inSpan(
    run.clock,
    `execute_tool ${raw.name}`,
    {
      attributes: {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": raw.name,
        "gen_ai.tool.call.id": raw.id,
        "gen_ai.tool.type": "function",
        ...(shown.capture ? { "gen_ai.tool.call.arguments": Arguments.toText(raw.params) } : undefined)
      }
    },
    shown.capture ? Effect.tap(effect, captured) : effect
  )
  return before(
    emit(run, () => ({
      _tag: "ToolCallStarted",
      callId: raw.id,
      tool: raw.name,
      arguments: Arguments.toText(raw.params)
    })),
    () => spanned
  )
}

const captured = (outcome: Outcome): Effect.Effect<void> =>
  outcome._tag === "Done"
    ? Effect.annotateCurrentSpan("gen_ai.tool.call.result", JSON.stringify(outcome.result.encoded))
    : Effect.void

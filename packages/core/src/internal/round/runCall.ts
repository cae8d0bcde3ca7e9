/** Runs one call of a known tool: from the model's arguments to a result, within its span and through the delivery. */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import type { CallBeforePause } from "../approval/snapshot.ts"
import * as Failures from "../projection/failures.ts"
import { type Call, forAgent, ToolCall } from "../call/call.ts"
import { Escalation, Pending } from "../../ToolError.ts"
import type * as Tool from "../tool/tool.ts"
import * as Arguments from "../call/arguments/toolArguments.ts"
import { counted, type RoundContext } from "./roundContext.ts"
import { type CallOutcome, type CallResult, codeOf, type RequestedCall } from "../run/callResult.ts"
import { type Approval, type Continuation, noteClientFailure } from "../call/record/admission.ts"
import { continueAfter } from "../call/record/attempts.ts"
import { noteEnded, noteUnknown } from "../call/record/outcome.ts"
import { type CallRecord, isStop, type Stop } from "../call/record/record.ts"
import { noteFixed } from "../call/record/recovering.ts"
import { mayHaveWritten } from "../call/children/writesWithin.ts"
import { startedInParallel } from "../call/replay/pausedWrites.ts"
import { cannotWait } from "../call/admissionGate.ts"
import type { ClientFailure } from "../call/clientCall.ts"
import { remember, rememberPart } from "../call/replay/snapshotWrites.ts"
import { settle } from "../call/record/claiming.ts"
import { pendingResult } from "../projection/pendingTask.ts"
import {
  failureOf,
  failureOfInterrupted,
  marksOfSuccess,
  outcomeUnknown,
  withUncertainty
} from "../result/failureOf.ts"
import { waiting } from "./resume/nestedPauses.ts"
import { pendingOf, waitsWithin } from "./resume/pausedWithin.ts"
import { auditWithin } from "../result/writeAudit.ts"
import type { AgentTool } from "../tool/agentTool.ts"
import { deliver } from "../result/delivery.ts"
import type { ToolInfo } from "../call/tool/toolInfo.ts"
import { behind } from "../foundation/effect/sequence.ts"
import { auditedAs } from "../call/auditedCall.ts"
import { announcedAttempts } from "../call/attemptLog.ts"
import * as Context from "effect/Context"
import type * as Exit from "effect/Exit"
import { EnclosingCall } from "../call/children/childCall.ts"
import { cutText } from "../foundation/json/jsonShape.ts"
import { emit } from "../run/run.ts"
import { inSpan } from "../run/observe/telemetry.ts"

/** Done when a call has ended, however it did. */
export type OnEnd = (exit: Exit.Exit<CallOutcome, unknown>) => Effect.Effect<void>

/** The arguments of a fixer or a person that a call was made with, or was to be made with, in place of the model's. */
export const repairedIn = (record: CallRecord | undefined): CallResult["repaired"] =>
  record?.recovering.fixedBy === undefined || record.recovering.fixedArguments === undefined
    ? undefined
    : { arguments: record.recovering.fixedArguments, by: record.recovering.fixedBy }

/**
 * The outcome of a delivered result. `info` is absent if no tool wrote it. The result names the arguments of the call
 * at any end.
 */
export const delivered = (
  { run, shown, started }: RoundContext,
  result: CallResult,
  info?: ToolInfo,
  read?: ReadonlyArray<string>
): Effect.Effect<CallOutcome> => {
  const record = started.get(result.call.id)?.record
  const repaired = result.repaired ?? repairedIn(record)
  const entry = result.isFailure && codeOf(result) === "outcome_unknown" ? record?.claiming.entry : undefined
  const known = repaired === undefined ? result : { ...result, repaired }
  return Effect.mapEager(
    deliver(shown, run, info, entry === undefined ? known : { ...known, entry }, read),
    (result): CallOutcome => ({ _tag: "Done", result: withUncertainty(record, result) })
  )
}

/** Error type of a call that waits or has a failed result, in its span. */
const outcomeType = (outcome: CallOutcome): string | undefined =>
  outcome._tag === "Waiting"
    ? "approval_required"
    : outcome.result.isFailure
    ? codeOf(outcome.result)
    : undefined

/** Writes the arguments and the result into the span of a call. */
const captured = (raw: RequestedCall, effect: Effect.Effect<CallOutcome, unknown, unknown>): typeof effect =>
  Effect.andThen(
    Effect.annotateCurrentSpan("gen_ai.tool.call.arguments", Arguments.toText(raw.params)),
    Effect.tap(effect, (outcome) =>
      outcome._tag === "Done"
        ? Effect.annotateCurrentSpan("gen_ai.tool.call.result", JSON.stringify(outcome.result.encoded))
        : Effect.void)
  )

/** Runs the answer of a call in the call's span; `call` is the running call, if it is one of a tool. */
export const inCallSpan = (
  calls: RoundContext,
  raw: RequestedCall,
  effect: Effect.Effect<CallOutcome, unknown, unknown>,
  { call, onEnd, resumedWith }: {
    readonly call?: Call
    readonly onEnd?: OnEnd
    /** The arguments of a call that waited, and whose start was already emitted. */
    readonly resumedWith?: unknown
  } = {}
): Effect.Effect<CallOutcome, unknown, unknown> => {
  const { run, shown } = calls
  const name = raw.name.length > 64 ? cutText(raw.name, 64) : raw.name
  const spanned = inSpan(
    run.start.tracing,
    {
      name: `execute_tool ${name}`,
      attributes: {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": name,
        "gen_ai.tool.call.id": raw.id,
        "gen_ai.tool.type": "function"
      }
    },
    shown.capture ? captured(raw, effect) : effect,
    {
      outcomeType,
      onEnd,
      services: call && ((context) => Context.add(Context.add(context, ToolCall, call), EnclosingCall, call))
    }
  )
  return run.audience === undefined
    ? spanned
    : Effect.flatMapEager(announceStart(calls, raw, resumedWith), () => spanned)
}

/** Emits the start of a call. `resumedWith`: the arguments of a call that was emitted before the pause. */
export const announceStart = (
  calls: RoundContext,
  raw: RequestedCall,
  resumedWith?: unknown
): Effect.Effect<void> =>
  emit(calls.run, () => {
    calls.started.set(raw.id, { record: calls.started.get(raw.id)?.record, isEmitted: true })
    return {
      _tag: "ToolCallStarted",
      callId: raw.id,
      tool: raw.name,
      arguments: Arguments.toText(resumedWith ?? raw.params),
      resumed: resumedWith !== undefined
    }
  })

/** Arguments of a call: the model's, or those of a person's decision. */
export interface Start {
  readonly arguments: unknown
  /** The arguments that a person has approved, in canonical JSON. */
  readonly approved?: string | undefined
  readonly fixedBy?: string | undefined
  /** The failure that the page gave for the call. */
  readonly clientFailure?: ClientFailure | undefined
  /** Continuation of the agent that is the tool. */
  readonly continuation?: Continuation | undefined
  /** Decisions about calls made by the tool. */
  readonly approvals?: ReadonlyArray<Approval> | undefined
  /** Inner calls that had started before the pause. */
  readonly startedCalls?: ReadonlyArray<CallBeforePause> | undefined
  /** The agent that is the tool has done something before it came to wait. */
  readonly doneInPart?: true | undefined
}

/** A denied call, or one with an unknown outcome if a write has started before it, or if an inner call was denied. */
const deniedAs = (calls: RoundContext, raw: RequestedCall, record: CallRecord) => {
  const { run, shown } = calls
  return mayHaveWritten(record) || run.log?.hasUnmatchedCall(run.scope, raw.id) === true
    ? outcomeUnknown(record, run.id, shown.user)
    : Failures.denied(run.id, shown.user)
}

/** Result of a call that may not run, regardless of its recovery. Fails with the error that ends the run. */
const stopped = (
  calls: RoundContext,
  raw: RequestedCall,
  call: Call,
  stop: Stop
): Effect.Effect<CallOutcome, unknown, unknown> => {
  const { arguments: given, record } = call
  switch (stop._tag) {
    case "Denied":
      return delivered(calls, {
        ...counted(calls, raw, deniedAs(calls, raw, record)),
        verdict: {
          decision: "denied",
          by: stop.policy,
          reason: stop.reason,
          security: calls.run.reading.taintedBy.length > 0,
          of: stop.of && auditedAs(stop.of)
        }
      })
    case "Waiting":
      return Effect.map(
        pendingOf(calls, raw, stop),
        (pending): CallOutcome => ({
          _tag: "Waiting",
          pending: [pending],
          ...waitsWithin(record, stop, given)
        })
      )
    case "Nested":
      return Effect.flatMap(startedInParallel(record), (startedCalls) =>
        startedCalls === undefined
          ? stopped(calls, raw, call, cannotWait)
          : Effect.succeed(waiting(raw, record, stop, startedCalls)))
    case "Refused":
      return Effect.fail(stop.error)
    case "CutOff":
      return delivered(calls, counted(calls, raw, failureOfInterrupted(record, calls.run.id, calls.shown.user)))
  }
}

/** True if something else than a stopped call ended an effect, such as a used-up budget. */
export const endedOtherwise = (cause: Cause.Cause<unknown>): boolean =>
  cause.reasons.some((reason) => Cause.isDieReason(reason) || (Cause.isInterruptReason(reason) && !isStop(reason)))

const noMarks: ReturnType<typeof marksOfSuccess> = { degraded: undefined, verdict: undefined }

/** True if a call has no write within, no other source, and a known outcome. */
const isPlain = ({ admission, children, marks, outcome }: CallRecord): boolean =>
  outcome.happened !== "unknown" && children.within === undefined && marks.degraded === undefined &&
  admission.substitutedBy === undefined

/** The result of a call that succeeded. */
export const callSucceeded = (
  raw: RequestedCall,
  call: Call,
  { encoded, modelOutput, value }: Tool.Checked<unknown>
): CallResult => {
  return {
    call: raw,
    isFailure: false,
    encoded,
    value,
    modelOutput,
    repaired: call.record.recovering.fixedBy === undefined ? undefined : repairedIn(call.record),
    ...(isPlain(call.record) ? noMarks : marksOfSuccess(call.record))
  }
}

/** The result of a call that has started a task. */
export const taskStarted = (
  { statusOf, tool }: AgentTool,
  raw: RequestedCall,
  call: Call,
  pending: Pending
): CallResult => ({
  call: raw,
  isFailure: false,
  encoded: pendingResult(pending, statusOf === undefined ? tool.status?.name : raw.name),
  modelOutput: undefined,
  repaired: repairedIn(call.record),
  pendingOf: statusOf ?? raw.name
})

/** The model's result for an error, if it does not end the run. */
const callFailed = (
  calls: RoundContext,
  tool: AgentTool,
  raw: RequestedCall,
  call: Call,
  error: unknown
): CallResult | undefined =>
  error instanceof Pending
    ? taskStarted(tool, raw, call, error)
    : error instanceof Escalation
    ? counted(calls, raw, failureOf(call.record, error, calls.run.id, calls.shown.user))
    : undefined

/** The result of a call within which an earlier execution of the run has started other calls than this one. */
const unmatchedResult = (
  calls: RoundContext,
  raw: RequestedCall,
  record: CallRecord
): Effect.Effect<CallOutcome> | undefined => {
  const { run: { log, scope } } = calls
  if (log?.hasUnmatchedCall(scope, raw.id) !== true) return undefined
  noteUnknown(record)
  return delivered(
    calls,
    counted(calls, raw, outcomeUnknown(record, calls.run.id, calls.shown.user)),
    record.attempts.tool,
    record.marks.read
  )
}

/** Starts a call: the effect runs it with all its recovery, once. Fails with the error that ends the run. */
export const runCall = (
  calls: RoundContext,
  tool: AgentTool,
  raw: RequestedCall,
  start: Start,
  onEnd: OnEnd = () => Effect.void
): Effect.Effect<CallOutcome, unknown, unknown> => {
  const { gate, run } = calls
  const { info } = tool.tool
  const call = forAgent({
    id: raw.id,
    arguments: start.arguments,
    level: tool.level,
    gate,
    approved: start.approved,
    tool: info,
    waitsFor: info,
    continuation: start.continuation,
    approvals: start.approvals,
    around: calls.within
  })
  const { record } = call
  calls.started.set(raw.id, { record, isEmitted: calls.started.get(raw.id)?.isEmitted === true })
  if (start.approved !== undefined) {
    // The attempt with which an agent resumes was already emitted.
    continueAfter(record, announcedAttempts(run, raw.id) - (start.continuation === undefined ? 0 : 1))
  }
  if (start.clientFailure !== undefined) noteClientFailure(record, start.clientFailure)
  if (start.startedCalls !== undefined) remember(record, start.startedCalls)
  if (start.doneInPart === true) rememberPart(record)
  if (start.fixedBy !== undefined) noteFixed(record, start.fixedBy, Arguments.toText(start.arguments))
  const answered = Effect.matchCauseEffect(tool.recovered, {
    onSuccess: (value): Effect.Effect<CallOutcome, unknown, unknown> => {
      if (record.admission.stop !== undefined) return stopped(calls, raw, call, record.admission.stop)
      const lost = unmatchedResult(calls, raw, record)
      if (lost !== undefined) return lost
      const result = Effect.catchEager(
        Effect.mapEager(tool.check(call, value), (checked) => callSucceeded(raw, call, checked)),
        (error) => {
          const failure = callFailed(calls, tool, raw, call, error)
          return failure === undefined ? Effect.fail(error) : Effect.succeed(failure)
        }
      )
      return Effect.flatMapEager(result, (result) => delivered(calls, result, info, record.marks.read))
    },
    onFailure: (cause): Effect.Effect<CallOutcome, unknown, unknown> => {
      if (record.admission.stop !== undefined && !endedOtherwise(cause)) {
        return stopped(calls, raw, call, record.admission.stop)
      }
      const result = callFailed(calls, tool, raw, call, cause.reasons.find(Cause.isFailReason)?.error)
      const lost = result === undefined ? undefined : unmatchedResult(calls, raw, record)
      if (lost !== undefined) return lost
      return result === undefined ? Effect.failCause(cause) : delivered(calls, result, info, record.marks.read)
    }
  })
  return inCallSpan(calls, raw, answered, {
    call,
    resumedWith: start.approved === undefined ? undefined : start.arguments,
    onEnd: (exit) => {
      noteEnded(record, exit)
      if (run.counts.admitted.calls !== undefined) gate.log.end(record)
      if (record.claiming.settle === undefined && record.admission.audited === undefined) return onEnd(exit)
      return Effect.flatMapEager(
        record.claiming.settle === undefined ? Effect.void : settle(call),
        () => behind(auditWithin(run, record), () => onEnd(exit))
      )
    }
  })
}

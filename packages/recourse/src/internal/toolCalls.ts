/** Runs the tool calls of one answer: in parallel, each with exactly one result, in the order of the calls. */
import { Cause, Clock, Effect, Exit, Schema } from "effect"
import { type Decision as Answer, DecisionRefused, type PendingCall } from "../Approval.ts"
import type { Decision } from "../Audit.ts"
import * as ErrorProjection from "../ErrorProjection.ts"
import { isTagged } from "../recovery/tags.ts"
import { CaptureContent } from "../Telemetry.ts"
import { forAgent, ToolCall } from "../ToolCall.ts"
import { Pending } from "../ToolError.ts"
import * as Arguments from "./arguments.ts"
import { audit } from "./audit.ts"
import { errorName } from "./boundary.ts"
import { canonicalJson } from "./canonicalJson.ts"
import type { Gate, Stop } from "./callRecord.ts"
import { deliver } from "./delivery.ts"
import { CallStopped } from "./gate.ts"
import { hashOf } from "./hash.ts"
import { markOf, type PendingResult, pendingResult } from "./marks.ts"
import type { RawCall } from "./modelCall.ts"
import type { AgentTool } from "./pipeline.ts"
import { before, emit, type Run } from "./run.ts"
import type { Session } from "./session.ts"
import { inSpan } from "./span.ts"
import type { CallResult } from "./transcript.ts"

/** What the calls of an agent's run have in common. */
export interface Calls {
  readonly run: Run
  readonly tools: ReadonlyMap<string, AgentTool>
  /** Names of the tools that the model was offered in the request that it answered. */
  offered: ReadonlyArray<string>
  readonly session: Session
  readonly user: ErrorProjection.UserTexts
  readonly policies: Gate["policies"]
  /** How long an approval may take, in milliseconds. */
  readonly approvalTimeToLive: number
  readonly concurrency: number | "unbounded"
  /** How often the same call may fail in the same way before the model is told to stop making it. */
  readonly repeatedFailures: number
}

/** What is known about the calls of a round that is resumed. */
export interface Resumed {
  readonly results: ReadonlyMap<string, CallResult>
  readonly pending: ReadonlyMap<string, PendingCall>
  readonly decisions: ReadonlyMap<string, Answer>
}

/** A call has a result, or waits. */
type Outcome = { readonly _tag: "Done"; readonly result: CallResult } | {
  readonly _tag: "Waiting"
  readonly pending: PendingCall
}

const done = (result: CallResult): Outcome => ({ _tag: "Done", result })

const keyOf = (call: RawCall): string => `${call.name}\n${canonicalJson(call.params)}`

const repeated = (calls: Calls, call: RawCall): { readonly code: string; readonly times: number } | undefined => {
  if (calls.session.failures.size === 0) return undefined
  for (const [code, times] of calls.session.failures.get(keyOf(call)) ?? []) {
    if (times >= calls.repeatedFailures) return { code, times }
  }
  return undefined
}

const countFailure = (calls: Calls, call: RawCall, code: string): number => {
  const key = keyOf(call)
  const codes = calls.session.failures.get(key) ?? new Map<string, number>()
  const times = (codes.get(code) ?? 0) + 1
  codes.set(code, times)
  calls.session.failures.set(key, codes)
  return times
}

const failed = (
  call: RawCall,
  failure: ErrorProjection.ToolFailure,
  repaired: CallResult["repaired"] = undefined
): CallResult => ({ call, isFailure: true, encoded: failure, modelOutput: undefined, repaired })

/** The result of a call that ended the run, or that the run's end interrupted. */
const endedResult = (
  { run, user }: Calls,
  call: RawCall,
  started: boolean,
  exit: Exit.Exit<unknown, unknown> | undefined
): CallResult => {
  const error = exit !== undefined && Exit.isFailure(exit)
    ? exit.cause.reasons.find(Cause.isFailReason)?.error
    : undefined
  return failed(
    call,
    error === undefined
      ? ErrorProjection.notRun(started, run.id, user)
      : ErrorProjection.toolFailure(error, run.id, user)
  )
}

/** With what a call is made: as the model made it, or as a person decided. */
interface Start {
  readonly arguments: unknown
  readonly approved?: string
  readonly fixedBy?: string
}

const gateOf = ({ policies, run, session }: Calls, approved: string | undefined): Gate => ({
  policies,
  runId: run.id,
  path: run.path,
  taintedBy: () => run.taintedBy,
  messages: () => session.transcript.snapshot().content,
  approved
})

const failedBy = (
  calls: Calls,
  raw: RawCall,
  failure: ErrorProjection.ToolFailure,
  repaired?: CallResult["repaired"]
) => {
  const times = countFailure(calls, raw, failure.code)
  return failed(
    raw,
    times < calls.repeatedFailures
      ? failure
      : ErrorProjection.repeatedCall(times, failure.code, calls.run.id, calls.user),
    repaired
  )
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

/** What a call that may not run gives, whatever its recovery made of it. */
const stopped = (calls: Calls, raw: RawCall, stop: Stop): Effect.Effect<Outcome> =>
  stop._tag === "Denied"
    ? Effect.as(
      Effect.annotateCurrentSpan("error.type", "permission_denied"),
      done({
        ...failedBy(calls, raw, ErrorProjection.denied(calls.run.id, calls.user)),
        verdict: { decision: "denied", by: stop.policy, reason: stop.reason, security: calls.run.taintedBy.length > 0 }
      })
    )
    : Effect.andThen(
      Effect.annotateCurrentSpan("error.type", "approval_required"),
      Effect.map(pendingOf(calls, raw, stop), (pending): Outcome => ({ _tag: "Waiting", pending }))
    )

/** Whether something else than a stopped call ended an effect, such as a used-up budget. */
const endedOtherwise = (exit: Exit.Exit<unknown, unknown>): boolean =>
  Exit.isFailure(exit) &&
  exit.cause.reasons.some((reason) =>
    Cause.isInterruptReason(reason) || (Cause.isDieReason(reason) && !(reason.defect instanceof CallStopped))
  )

const execute = (
  calls: Calls,
  { call: effect, statusOf, tool }: AgentTool,
  raw: RawCall,
  start: Start
): Effect.Effect<Outcome, unknown, unknown> =>
  Effect.suspend(() => {
    const { run } = calls
    const call = forAgent({ id: raw.id, arguments: start.arguments, gate: gateOf(calls, start.approved) })
    if (start.fixedBy !== undefined) {
      call.record.fixedBy = start.fixedBy
      call.record.fixedArguments = Arguments.toText(start.arguments)
    }
    const repaired = () =>
      call.record.fixedBy === undefined || call.record.fixedArguments === undefined
        ? undefined
        : { arguments: call.record.fixedArguments, by: call.record.fixedBy }
    const settled = effect.pipe(
      Effect.map(({ encoded, value }): CallResult => ({
        call: raw,
        isFailure: false,
        encoded,
        modelOutput: tool.definition.toModelOutput?.(value),
        repaired: repaired(),
        degraded: call.record.degraded && markOf(call.record.degraded),
        verdict: call.record.substitutedBy === undefined
          ? undefined
          : { decision: "substituted", by: call.record.substitutedBy }
      })),
      Effect.catchIf(
        (error) => error instanceof Pending,
        (pending) =>
          Effect.succeed<CallResult>({
            call: raw,
            isFailure: false,
            encoded: pendingResult(pending, statusOf === undefined ? tool.status?.name : raw.name),
            modelOutput: undefined,
            repaired: repaired(),
            pendingOf: statusOf ?? raw.name
          })
      ),
      Effect.catchIf(
        (error) => isTagged(error, ["Escalation"]),
        (error) => {
          const failure = ErrorProjection.toolFailure(error, run.id, calls.user)
          return Effect.as(
            Effect.annotateCurrentSpan("error.type", failure.code),
            failedBy(calls, raw, failure, repaired())
          )
        }
      ),
      Effect.provideService(ToolCall, call)
    )
    return Effect.flatMap(Effect.exit(settled), (exit): Effect.Effect<Outcome, unknown> => {
      const { stop } = call.record
      if (stop !== undefined && !endedOtherwise(exit)) return stopped(calls, raw, stop)
      return Exit.isSuccess(exit)
        ? Effect.succeed(done(exit.value))
        : Effect.andThen(
          Effect.annotateCurrentSpan("error.type", errorName(exit.cause)),
          Effect.failCause(exit.cause)
        )
    })
  })

/** Runs a call where it is seen, and lets its outcome through. `outcomeOf`: whether a tool said it, or somebody else. */
const observed = (
  { run, tools }: Calls,
  raw: RawCall,
  outcomeOf: "tool" | "other",
  effect: Effect.Effect<Outcome, unknown, unknown>
) =>
  Effect.flatMap(CaptureContent, (capture) => {
    const info = outcomeOf === "tool" ? tools.get(raw.name)?.tool.info : undefined
    const delivered = Effect.flatMap(effect, (outcome): Effect.Effect<Outcome> =>
      outcome._tag === "Waiting" ? Effect.succeed(outcome) : Effect.map(deliver(run, info, outcome.result), done))
    const spanned = inSpan(
      `execute_tool ${raw.name}`,
      {
        attributes: {
          "gen_ai.operation.name": "execute_tool",
          "gen_ai.tool.name": raw.name,
          "gen_ai.tool.call.id": raw.id,
          "gen_ai.tool.type": "function",
          ...(capture ? { "gen_ai.tool.call.arguments": Arguments.toText(raw.params) } : undefined)
        }
      }
    )(
      capture
        ? Effect.tap(
          delivered,
          (outcome) =>
            outcome._tag === "Done"
              ? Effect.annotateCurrentSpan("gen_ai.tool.call.result", JSON.stringify(outcome.result.encoded))
              : Effect.void
        )
        : delivered
    )
    return Effect.andThen(
      emit(run, () => ({
        _tag: "ToolCallStarted",
        callId: raw.id,
        tool: raw.name,
        arguments: Arguments.toText(raw.params)
      })),
      spanned
    )
  })

const one = (calls: Calls, raw: RawCall): Effect.Effect<Outcome, unknown, unknown> => {
  const { run, tools } = calls
  const tool = tools.get(raw.name)
  const outcome = repeated(calls, raw)
  return observed(
    calls,
    raw,
    outcome === undefined ? "tool" : "other",
    outcome !== undefined
      ? Effect.succeed(done(failed(raw, ErrorProjection.repeatedCall(outcome.times, outcome.code, run.id, calls.user))))
      : tool === undefined
      ? Effect.sync(() => {
        const failure = ErrorProjection.toolNotFound(raw.name, calls.offered, run.id, calls.user)
        countFailure(calls, raw, failure.code)
        return done(failed(raw, failure))
      })
      : execute(calls, tool, raw, { arguments: raw.params })
  )
}

/** Goes on with a call that waited, as was decided. Without a decision, or with one that came too late, it waits on. */
const decided = (
  calls: Calls,
  raw: RawCall,
  pending: PendingCall,
  decision: Answer | undefined
): Effect.Effect<Outcome, unknown, unknown> =>
  Effect.flatMap(Clock.currentTimeMillis, (now) => {
    const tool = calls.tools.get(raw.name)
    if (decision === undefined || tool === undefined) return Effect.succeed<Outcome>({ _tag: "Waiting", pending })
    if (decision._tag === "Reject") {
      return observed(
        calls,
        raw,
        "other",
        Effect.sync(() =>
          done({
            ...failedBy(calls, raw, ErrorProjection.rejected(decision.reason, calls.run.id, calls.user)),
            verdict: { decision: "rejected", by: decision.by, reason: decision.reason }
          })
        )
      )
    }
    if (decision._tag === "Respond") {
      const { definition, success } = tool.tool
      return observed(
        calls,
        raw,
        "other",
        Schema.decodeUnknownEffect(success)(decision.result).pipe(
          Effect.mapError(() => new DecisionRefused({ callId: raw.id, reason: "invalid_result" })),
          Effect.map((value) =>
            done({
              call: raw,
              isFailure: false,
              encoded: decision.result,
              modelOutput: definition.toModelOutput?.(value),
              repaired: undefined,
              verdict: { decision: "responded", by: decision.by }
            })
          )
        )
      )
    }
    if (now > pending.expiresAt) {
      return Effect.succeed<Outcome>({
        _tag: "Waiting",
        pending: {
          ...pending,
          code: "approval_expired",
          requestedAt: now,
          expiresAt: now + calls.approvalTimeToLive
        }
      })
    }
    const args = decision._tag === "Edit" ? decision.arguments : pending.arguments
    const fixedBy = decision._tag === "Edit" ? decision.by ?? "approval" : pending.fixedBy
    const approved = audit(
      calls.run,
      { id: raw.id, tool: raw.name, args },
      { decision: decision._tag === "Edit" ? "edited" : "approved", by: decision.by }
    )
    return Effect.andThen(
      approved,
      observed(
        calls,
        raw,
        "tool",
        execute(calls, tool, raw, {
          arguments: args,
          approved: canonicalJson(args),
          ...(fixedBy === undefined ? undefined : { fixedBy })
        })
      )
    )
  })

/** Codes of failures that are for the audit whatever else is known of them. */
const auditedCodes: Partial<Record<string, Decision>> = {
  permission_denied: "denied",
  outcome_unknown: "outcome_unknown",
  idempotency_conflict: "idempotency_conflict",
  authentication: "authentication",
  not_run: "cancelled"
}

const codeOf = (result: CallResult): string | undefined =>
  result.isFailure ? (result.encoded as ErrorProjection.ToolFailure).code : undefined

const audited = (run: Run, result: CallResult): Effect.Effect<void> => {
  const decision = auditedCodes[codeOf(result) ?? ""]
  const verdict = result.verdict ?? (decision === undefined ? undefined : { decision })
  return verdict === undefined
    ? Effect.void
    : audit(
      run,
      { id: result.call.id, tool: result.call.name, args: result.repaired?.arguments ?? result.call.params },
      verdict
    )
}

const announce = (run: Run, result: CallResult): Effect.Effect<void> => {
  const { call, degraded, encoded, isFailure, pendingOf } = result
  const code = codeOf(result)
  return before(
    audited(run, result),
    before(
      pendingOf === undefined ? Effect.void : emit(run, () => ({
        _tag: "ToolPending",
        callId: call.id,
        tool: call.name,
        taskId: (encoded as PendingResult).task_id
      })),
      emit(run, () => ({
        _tag: "ToolResult",
        callId: call.id,
        tool: call.name,
        isFailure,
        ...(code === undefined ? undefined : { code }),
        ...(degraded === undefined ? undefined : { degraded }),
        result: encoded
      }))
    )
  )
}

const announcePending = (run: Run, pending: PendingCall): Effect.Effect<void> =>
  Effect.andThen(
    audit(run, { id: pending.callId, tool: pending.tool, args: pending.arguments }, {
      decision: pending.code === "approval_expired" ? "approval_expired" : "approval_requested",
      reason: pending.reasons.length === 0 ? undefined : pending.reasons.join("; "),
      security: run.taintedBy.length > 0
    }),
    emit(run, () => ({
      _tag: "ApprovalRequested",
      callId: pending.callId,
      tool: pending.tool,
      code: pending.code,
      arguments: JSON.stringify(pending.arguments),
      argumentsHash: pending.argumentsHash,
      reasons: pending.reasons
    }))
  )

/**
 * Taints a run. Only when a round is done: the model had not read the result when it made the other calls of the round,
 * so that what these may do does not hang on which call was faster.
 */
const taint = (run: Run, tool: string | undefined): void => {
  if (tool !== undefined && !run.taintedBy.includes(tool)) run.taintedBy.push(tool)
}

/** What became of a round: all its calls failed, or not; or some wait. */
export interface RoundOutcome {
  readonly allFailed: boolean
  readonly results: ReadonlyArray<CallResult>
  readonly pending: ReadonlyArray<PendingCall>
}

/**
 * Runs the calls of one answer and commits their results. When one of them ends the run, or the run is interrupted, what
 * has completed keeps its result and everything else gets one that says so. A call that waits for an approval lets the
 * others run; its result says that it waits.
 */
export const runAll = (
  calls: Calls,
  raws: ReadonlyArray<RawCall>,
  resumed?: Resumed
): Effect.Effect<RoundOutcome, unknown, unknown> =>
  Effect.suspend(() => {
    const results: Array<CallResult | undefined> = raws.map((raw) => resumed?.results.get(raw.id))
    const waiting = new Map<number, PendingCall>()
    const started = new Set<number>()
    const exits = new Map<number, Exit.Exit<unknown, unknown>>()
    const call = (raw: RawCall): Effect.Effect<Outcome, unknown, unknown> => {
      const pending = resumed?.pending.get(raw.id)
      return pending === undefined ? one(calls, raw) : decided(calls, raw, pending, resumed?.decisions.get(raw.id))
    }
    const run = (raw: RawCall, index: number) =>
      Effect.suspend(() => {
        if (results[index] !== undefined) return Effect.void
        started.add(index)
        return Effect.onExit(call(raw), (exit) => {
          exits.set(index, exit)
          if (Exit.isFailure(exit)) return Effect.void
          if (exit.value._tag === "Waiting") {
            const { pending } = exit.value
            waiting.set(index, pending)
            return pending === resumed?.pending.get(raw.id) ? Effect.void : announcePending(calls.run, pending)
          }
          results[index] = exit.value.result
          return announce(calls.run, exit.value.result)
        })
      })
    const batch = raws.length === 1
      ? run(raws[0]!, 0)
      : Effect.forEach(raws, run, { concurrency: calls.concurrency, discard: true })
    return batch.pipe(
      Effect.onExit((exit) => {
        const missing: Array<CallResult> = []
        const resultOf = (raw: RawCall, index: number): Effect.Effect<CallResult> => {
          const result = results[index]
          if (result !== undefined) return Effect.succeed(result)
          const missed = waiting.has(index)
            ? Effect.succeed(failed(raw, ErrorProjection.waiting(calls.run.id, calls.user)))
            : deliver(
              calls.run,
              calls.tools.get(raw.name)?.tool.info,
              endedResult(calls, raw, started.has(index), exits.get(index))
            )
          return Effect.tap(missed, (result) => Effect.sync(() => missing.push(result)))
        }
        return Effect.flatMap(Effect.forEach(raws, resultOf), (all) => {
          calls.session.transcript.results(all)
          for (const { taints } of all) taint(calls.run, taints)
          return Exit.isSuccess(exit)
            ? Effect.void
            : Effect.forEach(missing, (result) => announce(calls.run, result), { discard: true })
        })
      }),
      Effect.map((): RoundOutcome => ({
        allFailed: results.every((result) => result?.isFailure === true),
        results: results.filter((result) => result !== undefined),
        pending: [...waiting].sort(([a], [b]) => a - b).map(([, pending]) => pending)
      }))
    )
  })

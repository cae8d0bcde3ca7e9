/** Withdraws approval requests that cannot be answered any more, and emits that. */
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { Decision } from "../../approval/decision.ts"
import type { Checkpoint, NestedRun, PendingCall, Snapshot, WaitingWithin } from "../../approval/snapshot.ts"
import { entriesOf } from "../../call/attemptLog.ts"
import { ToolCall } from "../../call/call.ts"
import { type CallRecord, newRecord, toolName } from "../../call/record/record.ts"
import type { Continuation } from "../../call/record/admission.ts"
import * as Failures from "../../projection/failures.ts"
import { announce, announceResult } from "../../result/announce.ts"
import { failed, type RoundContext } from "../roundContext.ts"
import type { Presentation } from "../../result/delivery.ts"
import { idWithin, isIdBelow } from "../../path/path.ts"
import { type CallOutcome, type CallResult, codeOf, type RequestedCall, type Waiting } from "../../run/callResult.ts"
import { CurrentRun, emit, type Run } from "../../run/run.ts"
import type * as Tool from "../../tool/tool.ts"
import { decisionsWithin } from "./nestedPauses.ts"
import { undecided } from "./pausedResult.ts"
import { isItself } from "./pausedWithin.ts"

/** Withdraws the waiting calls of a round, and inner ones. */
export const withdrawQuestions = (
  run: Run,
  shown: Pick<Presentation, "user">,
  round: Checkpoint["round"]
): Effect.Effect<void> => {
  if (round === undefined) return Effect.void
  const { calls, nested = [], pending, within = [] } = round
  const waiting = new Set([...pending, ...nested, ...within].map(({ callId }) => callId))
  return Effect.andThen(
    Effect.andThen(
      Effect.forEach(
        nested,
        // A round of steps has no calls.
        (one) => withdrawQuestionsWithin(run, shown, one, calls.length > 0),
        { discard: true }
      ),
      withdrawQuestionsOfTools(run, shown, within, pending)
    ),
    Effect.forEach(
      calls.filter(({ id }) => waiting.has(id)),
      (call) => {
        const is = ({ callId }: { readonly callId: string }) => callId === call.id
        return announce(
          run,
          undecided(run, shown, call, {
            nested: nested.find(is),
            within: within.find(is),
            pending: pending.filter(is)
          })
        )
      },
      { discard: true }
    )
  )
}

/** The result of a call made by a tool whose question is withdrawn. */
const withdrawnAlone = (run: Run, shown: Pick<Presentation, "user">, pending: PendingCall): CallResult => {
  const { arguments: params, callId: id, tool: name } = pending
  return undecided(run, shown, { id, name, params }, { pending: [pending] })
}

/** The calls that tools make and that wait are off. */
const withdrawQuestionsOfTools = (
  run: Run,
  shown: Pick<Presentation, "user">,
  within: ReadonlyArray<WaitingWithin>,
  pending: ReadonlyArray<PendingCall>
): Effect.Effect<void> =>
  within.length === 0 ? Effect.void : Effect.forEach(
    pending.filter(({ callId }) => within.some((one) => isIdBelow(one.callId, callId))),
    (one) => announce(run, withdrawnAlone(run, shown, one)),
    { discard: true }
  )

/** Withdraws waiting calls within a call, or within a step, which is no call. */
export const withdrawQuestionsWithin = (
  run: Run,
  shown: Pick<Presentation, "user">,
  { callId, snapshot }: Pick<NestedRun, "callId" | "snapshot">,
  isCall = true
): Effect.Effect<void> => {
  const { agent, round } = snapshot as unknown as Snapshot
  const nested: Run = {
    ...run,
    path: [...run.path, agent],
    agentRunId: idWithin(run.agentRunId, callId),
    start: { ...run.start, outerCall: isCall ? { id: callId, record: {} } : undefined },
    parent: run
  }
  const withdrawn = withdrawQuestions(nested, shown, round)
  return isCall ? Effect.andThen(withdrawn, attemptEnds(run, callId)) : withdrawn
}

/** Ends the attempt of an agent's call that does not resume. */
const attemptEnds = (run: Run, callId: string): Effect.Effect<void> =>
  Effect.suspend(() => {
    const running = entriesOf(run, callId).filter(({ outcome }) => outcome === "running")
    const [entry] = running
    if (entry === undefined) return Effect.void
    for (const one of running) one.outcome = "interrupted"
    const { attempt, tool } = entry
    return emit(run, () => ({ _tag: "ToolAttemptFailed", callId, tool, attempt, error: "Interrupted" }))
  })

/** An agent that is a tool waited in an earlier execution: its questions are withdrawn, and the run ends it. */
const withdrawNested = (
  { run, shown, tools }: Pick<RoundContext, "run" | "shown" | "tools">,
  { name }: RequestedCall,
  nested: NestedRun
): Effect.Effect<void> =>
  Effect.andThen(withdrawQuestionsWithin(run, shown, nested), registerEnd(run, tools.get(name)?.tool.ends, nested))

/** Ends the abandoned waiting calls within a call of a run. */
export const endOf = (
  run: Run,
  ends: Tool.Ends | undefined,
  { arguments: args, callId, snapshot }: NestedRun
): Effect.Effect<void, never, unknown> => {
  if (ends === undefined) return Effect.void
  const record = newRecord(callId)
  const agentRunId = idWithin(run.agentRunId, callId)
  return ends(snapshot, { agentRunId, outerCall: { id: callId, record } }).pipe(
    Effect.provideService(CurrentRun, run),
    Effect.provideService(ToolCall, { id: callId, arguments: args, attempt: 1, level: "tool", record })
  )
}

/** The run ends it: with the present services, because an outer run may have to do it. */
const registerEnd = (run: Run, ends: Tool.Ends | undefined, nested: NestedRun): Effect.Effect<void> =>
  run.start.isOver ? Effect.void : Effect.contextWith((context: Context.Context<never>) => {
    run.nested.registerCleanup({ end: endOf(run, ends, nested), context })
    return Effect.void
  })

/** A waiting call that the run resumes. */
export interface Resumption {
  readonly waiting: Waiting
  /** Continuation of the agent that is the tool. */
  readonly continuation: Continuation | undefined
  /** The decision about the call, or about an inner one that is no agent's. */
  readonly decision: Decision | undefined
}

/** Returns the resumption of a call by decisions. */
export const resumptionOf = (
  callId: string,
  waiting: Waiting,
  decisions: ReadonlyMap<string, Decision>
): Resumption => {
  const { nested, pending: [pending] } = waiting
  return nested === undefined
    ? { waiting, continuation: undefined, decision: pending && decisions.get(pending.callId) }
    : {
      waiting,
      continuation: {
        snapshot: nested.snapshot,
        decisions: decisionsWithin(callId, decisions.values()),
        hasResumed: false
      },
      decision: undefined
    }
}

/**
 * Ids under which a call has been made within another one, and has ended or reached its executor: it emits its result
 * itself. Another id if the outer call was repeated.
 */
const madeAs = ({ children }: CallRecord, identity: string): ReadonlyArray<string> =>
  [...children.byPlace.values(), ...children.replaced].flatMap((child) =>
    child.identity !== identity
      ? madeAs(child, identity)
      : child.outcome.ended !== undefined || child.outcome.executed
      ? [child.callId]
      : []
  )

const isStillAsked = (callId: string, outcome: CallOutcome | undefined): boolean =>
  outcome?._tag === "Waiting" && outcome.pending.some((call) => call.callId === callId)

/** A call that was not made is cancelled. One that may have been made has its record as such. */
const cancelled = (result: CallResult): CallResult =>
  codeOf(result) === "outcome_unknown" ? result : { ...result, verdict: { decision: "cancelled" } }

/** Withdraws calls that waited at the pause within a call, if the run continued without them. */
const withdrawNotMet = (
  calls: RoundContext,
  raw: RequestedCall,
  { continuation, decision, waiting }: Resumption,
  record: CallRecord | undefined,
  outcome: CallOutcome | undefined
): Effect.Effect<void> => {
  const { run, shown } = calls
  const { nested, pending, within } = waiting
  if (nested !== undefined) {
    return continuation?.hasResumed === true ? Effect.void : withdrawNested(calls, raw, nested)
  }
  if (within === undefined || isItself(within)) return Effect.void
  const made = record === undefined ? [] : madeAs(record, within.identity)
  return Effect.forEach(pending, (one) => {
    const { arguments: params, callId: id, tool: name } = one
    const call = { id, name, params }
    if (made.includes(id) || isStillAsked(id, outcome)) return Effect.void
    // It was made as was decided, and has its result there: only the question is over.
    if (made.length > 0) return announceResult(run, undecided(run, shown, call))
    return decision?._tag !== "Reject" || outcome === undefined
      ? announce(run, cancelled(withdrawnAlone(run, shown, one)))
      // The audit knows it of the call around it.
      : announceResult(run, {
        ...failed(call, Failures.rejected(decision.reason, run.id, shown.user)),
        verdict: { decision: "rejected" }
      })
  }, { discard: true })
}

/** Withdraws the questions within a call that does not wait: those of agents, and those of the call of a tool. */
const withdrawUnheard = (
  { run, shown }: RoundContext,
  { callId, admission: { questions, stop } }: CallRecord
): Effect.Effect<void> => {
  const byTool = stop?._tag === "Waiting" && stop.of !== undefined
    ? announce(run, undecided(run, shown, { id: stop.of.callId, name: toolName(stop.of), params: stop.arguments }))
    : stop?._tag === "Nested"
    ? attemptEnds(run, callId)
    : Effect.void
  return questions === undefined
    ? byTool
    : Effect.andThen(Effect.forEach(questions, (withdraw) => withdraw, { discard: true }), byTool)
}

/**
 * Withdraws the questions within a call at its end, unless the call waits for them. `state` is absent if it was
 * interrupted.
 */
export const withdrawQuestionsAtEnd = (
  calls: RoundContext,
  raw: RequestedCall,
  resumption: Resumption | undefined,
  state?: CallOutcome | { readonly _tag: "Running" | "Failed" }
): Effect.Effect<void> => {
  const record = calls.started.get(raw.id)?.record
  const outcome = state?._tag === "Done" || state?._tag === "Waiting" ? state : undefined
  const unheard = record === undefined || outcome?._tag === "Waiting" ? Effect.void : withdrawUnheard(calls, record)
  return resumption === undefined
    ? unheard
    : Effect.flatMapEager(unheard, notMet(calls, raw, resumption, record, outcome))
}

const notMet = (...about: Parameters<typeof withdrawNotMet>) => (): Effect.Effect<void> => withdrawNotMet(...about)

/** Withdraws the questions within a call that waits. */
export const withdrawQuestionsOf = (
  calls: RoundContext,
  raw: RequestedCall,
  { nested, pending, withdraw, within }: Waiting
): Effect.Effect<void> => {
  const { run, shown } = calls
  if (nested === undefined) return withdrawQuestionsOfTools(run, shown, within === undefined ? [] : [within], pending)
  return withdraw === undefined
    ? withdrawNested(calls, raw, nested)
    : Effect.andThen(withdraw, attemptEnds(run, nested.callId))
}

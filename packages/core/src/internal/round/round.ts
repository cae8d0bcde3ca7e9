/** Runs the tool calls of one answer in parallel: each has one state, and exactly one result, also if the run ends or waits before the call has ended. */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Path from "../path/path.ts"
import * as Failures from "../projection/failures.ts"
import { announce, announcePending } from "../result/announce.ts"
import { callKey, failed, type RoundContext, unknown } from "./roundContext.ts"
import type { CallOutcome, CallResult, RequestedCall, Waiting } from "../run/callResult.ts"
import { recordCall, recordedOutcome, tallying } from "./recordedCall.ts"
import { type Resumption, resumptionOf, withdrawQuestionsAtEnd } from "./resume/withdrawQuestions.ts"
import { resumeCall } from "./resume/resumeCall.ts"
import type { RunLog } from "../run/runLog.ts"
import { delivered, inCallSpan, type OnEnd, runCall } from "./runCall.ts"
import { behind } from "../foundation/effect/sequence.ts"
import { runCleanups } from "../run/writes/cleanups.ts"
import { resultsMessage } from "../run/transcript.ts"
import { valueOf } from "../call/arguments/toolArguments.ts"
import { outcomeOf } from "../call/ledger/loggedWrite.ts"
import type { ToolFailure } from "../projection/toolFailure.ts"
import { isOfMissingTool, resultOfMissingTool } from "./missingTool.ts"
import { taintRun } from "../run/state/runState.ts"
import { type CallState, endRound, type Resumed, type RoundState } from "./endedRound.ts"

const noResumptions: ReadonlyMap<string, Resumption> = new Map()

/** Finds the first of equal calls. Their keys are made when the first one is sought, because few answers have equal calls. */
const firstsOf = (raws: ReadonlyArray<RequestedCall>): (raw: RequestedCall) => number => {
  let firsts: Map<string, number> | undefined
  return (raw) => {
    firsts ??= new Map(raws.map((other, index): [string, number] => [callKey(other), index]).toReversed())
    return firsts.get(callKey(raw))!
  }
}

/** A call with its arguments as a value. Some transports keep the model's text, and equal arguments have many texts. */
const withValue = (call: RequestedCall): RequestedCall =>
  typeof call.params === "string" ? { ...call, params: valueOf(call.params) } : call

/** Notes a result. One of the same call that succeeded starts the count of its failures again. */
const noteResult = ({ session, tools }: RoundContext, { call, encoded, isFailure }: CallResult): void => {
  if (isFailure) return
  if (session.failures.size > 0) session.failures.delete(callKey(call))
  if (tools.get(call.name)?.tool.info.equalCalls.allowIdenticalCalls !== true) {
    session.answers.note(withValue(call), encoded)
  }
}

/** The calls of one answer while they run. */
class Round implements RoundState {
  readonly calls: RoundContext
  readonly raws: ReadonlyArray<RequestedCall>
  readonly resumed: Resumed | undefined
  readonly states: Array<CallState | undefined>
  /** The waiting calls with their resumptions. */
  readonly resumptions: ReadonlyMap<string, Resumption>
  /** Returns the index of the first call of the answer that is equal to one. */
  private readonly firstOf: (raw: RequestedCall) => number

  constructor(calls: RoundContext, raws: ReadonlyArray<RequestedCall>, resumed: Resumed | undefined) {
    this.calls = calls
    this.raws = raws
    this.firstOf = firstsOf(raws)
    this.resumed = resumed
    this.resumptions = resumed === undefined
      ? noResumptions
      : new Map([...resumed.waiting].map(([id, waiting]) => [id, resumptionOf(id, waiting, resumed.decisions)]))
    this.states = raws.map((raw): CallState | undefined => {
      const result = resumed?.results.get(raw.id)
      return result && { _tag: "Done", result }
    })
  }

  /**
   * Starts the calls: the effect runs them, once, and commits their results. When one of them ends the run, or the run
   * is interrupted, completed calls keep their results and all others receive a result with the reason. A call that
   * waits for an approval lets the others run; its result reports the wait.
   */
  runAll(
    restore: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  ): Effect.Effect<unknown, unknown, unknown> {
    return Effect.onExitPrimitive(restore(this.inLanes(this.calls.concurrency)), (exit) => {
      const last = this.commit(Exit.isFailure(exit))
      return last === Effect.void ? undefined : last
    })
  }

  /**
   * Runs the calls with a limit, in fibers that are all forked at the start: each takes one call after the other. A
   * fiber that `forEach` forks later is not interrupted if its first steps interrupt the run.
   */
  private inLanes(concurrency: RoundContext["concurrency"]): Effect.Effect<unknown, unknown, unknown> {
    const { raws } = this
    if (raws.length === 1) return this.run(raws[0]!, 0)
    let next = 0
    const lane = Effect.whileLoop({
      while: () => next < raws.length,
      body: () => {
        const index = next++
        return this.run(raws[index]!, index)
      },
      step: () => undefined
    })
    const lanes = concurrency === "unbounded" ? raws.length : Math.min(concurrency, raws.length)
    return lanes <= 1
      ? lane
      : Effect.forEach(Array.from({ length: lanes }), () => lane, { concurrency: "unbounded", discard: true })
  }

  /** Begins a call. */
  private run(raw: RequestedCall, index: number): Effect.Effect<unknown, unknown, unknown> {
    if (this.states[index] !== undefined) return Effect.void
    this.states[index] = { _tag: "Running" }
    const { account, log } = this.calls.run
    const begin = () => log === undefined ? this.begin(this.calls, raw, index) : this.recorded(log, raw, index)
    // It was charged when it began.
    if (this.resumed?.waiting.has(raw.id) === true) return begin()
    return Effect.flatMapEager(account.chargeRequest(raw.name, raw.params), begin)
  }

  private begin(
    calls: RoundContext,
    raw: RequestedCall,
    index: number,
    record: (result: CallResult) => Effect.Effect<void> = this.logged
  ): Effect.Effect<CallOutcome, unknown, unknown> {
    const resumption = this.resumptions.get(raw.id)
    const ended: OnEnd = (exit) => {
      const state: CallState = Exit.isSuccess(exit) ? exit.value : { _tag: "Failed", cause: exit.cause }
      this.end(index, state)
      if (state === resumption?.waiting) return Effect.void
      const announced = () =>
        state._tag !== "Done" ? this.announce(state) : Effect.flatMapEager(
          // Waiting calls within the call are abandoned by the run.
          calls.run.nested.cleanups === undefined ? Effect.void : runCleanups(calls.run),
          () => Effect.flatMapEager(this.announce(state), () => record(state.result))
        )
      const admission = calls.started.get(raw.id)?.record?.admission
      return resumption === undefined && admission?.stop === undefined && admission?.questions === undefined
        ? announced()
        : behind(withdrawQuestionsAtEnd(this.calls, raw, resumption, state), announced)
    }
    return resumption === undefined
      ? this.make(calls, raw, index, ended)
      : Effect.onExitPrimitive(resumeCall(calls, raw, resumption), ended)
  }

  /** Takes the outcome of a call from the run's journal, or runs the call and writes its outcome there. */
  private recorded(
    log: RunLog,
    raw: RequestedCall,
    index: number
  ): Effect.Effect<CallOutcome, unknown, unknown> {
    const earlier = recordedOutcome(this.calls, log, raw)
    return earlier === undefined
      ? tallying(this.calls, (calls) => this.begin(calls, raw, index, (result) => recordCall(calls, log, result)))
      : Effect.map(earlier, (outcome) => {
        this.end(index, outcome)
        return outcome
      })
  }

  /** Stores the result in the write log of the run, if a write of the call is there. */
  private readonly logged = (result: CallResult): Effect.Effect<void> => {
    const { run, started, within } = this.calls
    const { id } = result.call
    const record = started.get(id)?.record
    if (run.writes.log === undefined || record === undefined || within !== undefined) return Effect.void
    return run.writes.log.answer({ runId: run.id, callId: id }, outcomeOf(record), () => resultsMessage([result]))
  }

  private end(index: number, state: CallState): void {
    const before = this.states[index]
    this.states[index] = state
    if (state._tag === "Done") noteResult(this.calls, state.result)
    if (before?._tag === "Running" && before.ended !== undefined) Deferred.doneUnsafe(before.ended, Effect.void)
  }

  /** Runs a call, or answers it by an equal call of the same answer if its tool is executed once for both. */
  private make(
    calls: RoundContext,
    raw: RequestedCall,
    index: number,
    onEnd: OnEnd
  ): Effect.Effect<CallOutcome, unknown, unknown> {
    const running = calls.equalRunning?.(raw)
    const equal = this.raws.length === 1 && running === undefined ? undefined : ofEqualCalls(calls, raw)
    const first = equal === undefined ? index : this.firstOf(raw)
    const firstId = first === index ? running : this.raws[first]!.id
    if (equal === "first" && firstId !== undefined) {
      const result = duplicate(calls, raw, firstId)
      return inCallSpan(calls, raw, Effect.suspend(() => delivered(calls, result)), { onEnd })
    }
    if (first === index) return answerCall(calls, raw, onEnd)
    return Effect.flatMap(this.ended(first), (state) =>
      state?._tag === "Done"
        ? inCallSpan(
          calls,
          raw,
          Effect.succeed<CallOutcome>({ _tag: "Done", result: readdressed(state.result, raw) }),
          {
            onEnd
          }
        )
        : answerCall(calls, raw, onEnd))
  }

  /** Returns the end of a call, once it has ended. */
  private ended(index: number): Effect.Effect<CallState | undefined> {
    const state = this.states[index]
    if (state?._tag !== "Running") return Effect.sync(() => this.states[index])
    const { ended = Deferred.makeUnsafe<void>() } = state
    this.states[index] = { _tag: "Running", ended }
    return Effect.map(Deferred.await(ended), () => this.states[index])
  }

  private announce(state: CallState): Effect.Effect<void> {
    const { run } = this.calls
    if (state._tag === "Done") {
      // A success has no words for the audit, unless it has a verdict.
      const isAudited = state.result.isFailure || state.result.verdict !== undefined
      return isAudited || run.audience !== undefined ? announce(run, state.result) : Effect.void
    }
    // A waiting agent has emitted its inner calls itself.
    return state._tag === "Waiting" && state.nested === undefined
      ? Effect.forEach(state.pending, (pending) => announcePending(run, pending), { discard: true })
      : Effect.void
  }

  /** Writes all results into the transcript; calls that have none get one that says why. `ends`: whether the run does. */
  private commit(ends: boolean): Effect.Effect<void> {
    const { results } = this
    this.calls.session.withdraw = undefined
    if (results.length < this.raws.length) return endRound(this, ends, (all) => this.write(all, ends))
    this.write(results, ends)
    return Effect.void
  }

  private write(results: ReadonlyArray<CallResult>, ends: boolean): void {
    const { run, session } = this.calls
    session.transcript.results(results)
    // A waiting round is not complete: its other calls run at its resumption, as if it had not waited.
    if (!ends && this.waiting.length > 0) return
    // Only at the end of a round: the model had not read the result when it made the other calls of the round, so their
    // rights do not depend on the order of completion.
    for (const { taints } of results) if (taints !== undefined) taintRun(run, taints)
  }

  get results(): ReadonlyArray<CallResult> {
    return this.states.filter((state) => state?._tag === "Done").map(({ result }) => result)
  }

  get waiting(): ReadonlyArray<Waiting> {
    return this.states.filter((state) => state?._tag === "Waiting")
  }
}

/**
 * Begins the calls of an answer: the effect runs them, once, and returns their results, or the pause of the run if some
 * of them wait. `note` writes the calls into the transcript: from that step on each of them has a result, however the
 * run ends.
 */
export const runRound = <P>(
  calls: RoundContext,
  raws: ReadonlyArray<RequestedCall>,
  note: () => void,
  resumed: Resumed | undefined,
  pauseOf: (waiting: ReadonlyArray<Waiting>, results: ReadonlyArray<CallResult>) => P
): Effect.Effect<P | ReadonlyArray<CallResult>, unknown, unknown> =>
  // An interruption during the first step takes effect before the second, which notes the calls.
  Effect.uninterruptibleMask((restore) =>
    Effect.suspend(() => {
      note()
      const round = new Round(calls, raws, resumed)
      return Effect.flatMap(
        round.runAll(restore),
        (): Effect.Effect<P | ReadonlyArray<CallResult>> => {
          const { results, waiting } = round
          return waiting.length > 0
            ? Effect.succeed(pauseOf(waiting, results))
            : Effect.mapEager(calls.run.account.round(results.every(({ isFailure }) => isFailure)), () => results)
        }
      )
    })
  )

/** The failure that the same call has come to too often, if there is one. */
const repeated = (
  { repeatedFailures, session }: RoundContext,
  call: RequestedCall
): { readonly code: string; readonly times: number } | undefined => {
  if (session.failures.size === 0) return undefined
  for (const [code, times] of session.failures.get(callKey(call)) ?? []) {
    if (times >= repeatedFailures) return { code, times }
  }
  return undefined
}

/** The failure of a call that is not made, because it has given the same result too often. */
const knownFailure = (calls: RoundContext, call: RequestedCall): ToolFailure | undefined => {
  const times = calls.tools.get(call.name)?.tool.info.equalCalls.allowIdenticalCalls === true
    ? 0
    : calls.session.answers.timesOf(withValue(call))
  return times < calls.repeatedCalls ? undefined : Failures.sameResult(times, calls.run.id, calls.shown.user)
}

/** Answers a call. A tool that was not offered does not exist for the model. */
const answerCall = (
  calls: RoundContext,
  raw: RequestedCall,
  onEnd: OnEnd
): Effect.Effect<CallOutcome, unknown, unknown> => {
  const tool = calls.offered.includes(raw.name) ? calls.tools.get(raw.name) : undefined
  if (tool === undefined && isOfMissingTool(calls, raw)) {
    return inCallSpan(calls, raw, Effect.suspend(() => delivered(calls, resultOfMissingTool(calls, raw))), { onEnd })
  }
  const outcome = repeated(calls, raw)
  const failure = outcome === undefined
    ? knownFailure(calls, raw)
    : Failures.repeatedCall(outcome.times, outcome.code, calls.run.id, calls.shown.user)
  return failure !== undefined || tool === undefined
    ? notRun(calls, raw, failure, onEnd)
    : runCall(calls, tool, raw, { arguments: raw.params }, onEnd)
}

/** A call that receives its failure without being run. Without a failure there is no such tool. */
const notRun = (calls: RoundContext, raw: RequestedCall, failure: ToolFailure | undefined, onEnd: OnEnd) => {
  const answer = () => delivered(calls, failure === undefined ? unknown(calls, raw) : failed(raw, failure))
  return inCallSpan(calls, raw, Effect.suspend(answer), { onEnd })
}

/**
 * The result of a call, readdressed to another one with the same arguments: the envelope of untrusted text names its
 * call.
 */
const readdressed = (result: CallResult, call: RequestedCall): CallResult => {
  const to = (value: unknown): unknown => {
    const fields = Object(value) as object
    return Object.hasOwn(fields, "untrusted") && Object.hasOwn(fields, "call_id")
      ? { ...fields, call_id: call.id }
      : value
  }
  return {
    ...result,
    call,
    encoded: to(result.encoded),
    whole: to(result.whole)
  }
}

/**
 * Returns how equal calls of one answer are executed: `first` only the first, `shared` once with a result for each, `undefined` each.
 */
const ofEqualCalls = (calls: RoundContext, raw: RequestedCall): "first" | "shared" | undefined => {
  const info = calls.offered.includes(raw.name) ? calls.tools.get(raw.name)?.tool.info : undefined
  if (info === undefined) return undefined
  if (info.equalCalls.coalesce === true) return "shared"
  // A key that is made of the arguments makes equal calls one in the ledger, which answers them all.
  const isRepeatable = info.equalCalls.allowIdenticalCalls === true || info.equalCalls.hasKeyFunction === true ||
    info.effects === "read" ||
    info.effects === "idempotent"
  const { run } = calls
  // A call that an earlier execution has started is replayed, and never reported as not executed.
  return isRepeatable || run.log?.has(Path.ofCall(run.scope, raw.name, raw.id)) === true ? undefined : "first"
}

/** Returns the result of a call that is not executed because an equal call of its answer is. */
const duplicate = ({ run, shown }: RoundContext, call: RequestedCall, first: string): CallResult => ({
  ...failed(call, Failures.duplicateCall(run.id, shown.user)),
  verdict: { decision: "duplicate", reason: `The call "${first}" of the same answer has the same arguments` }
})

/** Runs the tool calls of one answer: in parallel, each with exactly one result, in the order of the calls. */
/* oxlint-disable max-lines -- one turn of the calls, from the answer to the results */
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { Decision } from "../approval/decision.ts"
import type { ToolFailure } from "../projection/toolFailure.ts"
import * as Failures from "../projection/failures.ts"
import { announce, announceEach, announcePending } from "../result/announce.ts"
import { begunOtherwise, isOfMissingTool } from "./changedTool.ts"
import { delivered, failed, repairedIn, type RoundContext } from "./context.ts"
import type { CallOutcome, CallResult, RequestedCall, Waiting } from "../run/callResult.ts"
import { begunEarlier } from "./notComeBy.ts"
import { duplicate, ofEqualCalls } from "./equalCalls.ts"
import { callKey, noteResult, repeated, toldBefore, unknown } from "./repeatedFailures.ts"
import { recordCall, recordedOutcome, tallying } from "./recordedCall.ts"
import { type Resumption, withdrawQuestionsAtEnd, withdrawQuestionsOf } from "./withdrawQuestions.ts"
import { resumeCall } from "./resumeCall.ts"
import { undecided } from "./waitingResult.ts"
import { outcomeUndecided } from "../approval/waitsWithin.ts"
import { deliverLast } from "../result/delivery.ts"
import { failureOfEnded } from "../result/failureOf.ts"
import type { Journal } from "../../Journal.ts"
import { runCall } from "./runCall.ts"
import { announceStart, inCallSpan, type OnEnd } from "./callSpan.ts"
import { after, before, behind } from "../foundation/sequence.ts"
import { settleOwed } from "../run/owed.ts"
import type { Run } from "../run/run.ts"
import { resultsMessage } from "../run/transcript.ts"
import { outcomeOf } from "../call/loggedWrite.ts"
import { taintRun } from "../run/state/reading.ts"

/** What is known about the calls of a round that is resumed. */
export interface Resumed {
  readonly results: ReadonlyMap<string, CallResult>
  readonly waiting: ReadonlyMap<string, Waiting>
  readonly decisions: ReadonlyMap<string, Decision>
}

const one = (calls: RoundContext, raw: RequestedCall, onEnd: OnEnd): Effect.Effect<CallOutcome, unknown, unknown> => {
  // What was not offered is not there: a state that nothing waits for, a tool that is hidden.
  const tool = calls.offered.includes(raw.name) ? calls.tools.get(raw.name) : undefined
  const info = tool?.tool.info
  if (isOfMissingTool(calls, raw, info)) {
    return inCallSpan(calls, raw, Effect.suspend(() => delivered(calls, begunOtherwise(calls, raw))), { onEnd })
  }
  const outcome = repeated(calls, raw)
  const failure = outcome === undefined
    ? toldBefore(calls, raw)
    : Failures.repeatedCall(outcome.times, outcome.code, calls.run.id, calls.shown.user)
  return failure !== undefined || tool === undefined
    ? notRun(calls, raw, failure, onEnd)
    : runCall(calls, tool, raw, { arguments: raw.params }, onEnd)
}

/** A call that is told its failure without being run. Without a failure there is no such tool. */
const notRun = (calls: RoundContext, raw: RequestedCall, failure: ToolFailure | undefined, onEnd: OnEnd) => {
  const answer = () => delivered(calls, failure === undefined ? unknown(calls, raw) : failed(raw, failure))
  return inCallSpan(calls, raw, Effect.suspend(answer), { onEnd })
}

/** The result of a call as that of another one with the same arguments: the envelope of what is from outside names its call. */
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

/** Where a call is: not begun, running, ended with what it came to, or ended the run. */
type CallState = CallOutcome | { readonly _tag: "Running" } | {
  readonly _tag: "Failed"
  readonly cause: Cause.Cause<unknown>
}

const errorOf = (state: CallState | undefined): unknown =>
  state?._tag === "Failed" ? state.cause.reasons.find(Cause.isFailReason)?.error : undefined

/** The result of a call that ended the run, or that the run's end interrupted. `waited`: how it waited before. */
const endedResult = (
  calls: RoundContext,
  call: RequestedCall,
  state: CallState | undefined,
  waited: Waiting | undefined
): CallResult => {
  const { records, run, shown, shown: { user } } = calls
  if (waited !== undefined && outcomeUndecided(waited) === "unknown" && !records.has(call.id)) {
    return undecided(run, shown, call, waited)
  }
  const error = errorOf(state)
  const record = records.get(call.id)
  const earlier = error === undefined ? begunEarlier(calls, call) : undefined
  return failed(call, earlier ?? failureOfEnded(record, error, run.id, user), repairedIn(record))
}

/**
 * Taints a run. Only when a round is done: the model had not read the result when it made the other calls of the round,
 * so that what these may do does not hang on which call was faster.
 */
const taint = (run: Run, results: ReadonlyArray<CallResult>): void => {
  for (const { taints } of results) if (taints !== undefined) taintRun(run, taints)
}

/** The outcome of a round. */
export interface RoundOutcome {
  readonly allFailed: boolean
  readonly results: ReadonlyArray<CallResult>
  readonly waiting: ReadonlyArray<Waiting>
}

const noResumptions: ReadonlyMap<string, Resumption> = new Map()

/** The calls of one answer while they run. */
class Round implements RoundOutcome {
  readonly calls: RoundContext
  readonly raws: ReadonlyArray<RequestedCall>
  readonly resumed: Resumed | undefined
  readonly states: Array<CallState | undefined>
  /** The calls that waited, as they go on. */
  readonly resumptions: ReadonlyMap<string, Resumption>
  /** The results, once each call has one. */
  private complete: ReadonlyArray<CallResult> | undefined
  /** Calls whose result others of the answer wait for. */
  private followed: Map<number, Deferred.Deferred<void>> | undefined
  /** Indices of the first of equal calls, by their key. */
  private firsts: Map<string, number> | undefined

  constructor(calls: RoundContext, raws: ReadonlyArray<RequestedCall>, resumed: Resumed | undefined) {
    this.calls = calls
    this.raws = raws
    this.resumed = resumed
    this.resumptions = resumed === undefined
      ? noResumptions
      : new Map([...resumed.waiting].map(([id, waiting]) => [id, { waiting }]))
    this.states = raws.map((raw): CallState | undefined => {
      const result = resumed?.results.get(raw.id)
      return result && { _tag: "Done", result }
    })
  }

  /** Begins a call. */
  run(raw: RequestedCall, index: number): Effect.Effect<unknown, unknown, unknown> {
    if (this.states[index] !== undefined) return Effect.void
    this.states[index] = { _tag: "Running" }
    const { account, journal } = this.calls.run
    const begin = () => journal === undefined ? this.begin(this.calls, raw, index) : this.recorded(journal, raw, index)
    // It was charged when it began.
    if (this.resumed?.waiting.has(raw.id) === true) return begin()
    return before(
      account.requireArguments(raw.name, raw.params),
      () => before(account.chargeRow(raw.name), begin)
    )
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
      return behind(
        withdrawQuestionsAtEnd(this.calls, raw, resumption, state),
        () =>
          state._tag !== "Done" ? this.announce(state) : before(
            // What waited within the call, the run goes on without.
            settleOwed(calls.run),
            () => before(this.announce(state), () => record(state.result))
          )
      )
    }
    return resumption === undefined
      ? this.make(calls, raw, index, ended)
      : after(resumeCall(calls, raw, resumption, this.resumed!.decisions), ended)
  }

  /** Takes the outcome of a call from the run's journal, or runs the call and writes its outcome there. */
  private recorded(
    journal: Journal,
    raw: RequestedCall,
    index: number
  ): Effect.Effect<CallOutcome, unknown, unknown> {
    const earlier = recordedOutcome(this.calls, journal, raw)
    return earlier === undefined
      ? tallying(this.calls, (calls) => this.begin(calls, raw, index, (result) => recordCall(calls, journal, result)))
      : Effect.map(earlier, (outcome) => {
        this.end(index, outcome)
        return outcome
      })
  }

  /** Stores the result in the write log of the run, if a write of the call is there. */
  private readonly logged = (result: CallResult): Effect.Effect<void> => {
    const { records, run, within } = this.calls
    const { id } = result.call
    const record = records.get(id)
    if (run.writes.log === undefined || record === undefined || within !== undefined) return Effect.void
    return run.writes.log.answer({ runId: run.id, callId: id }, outcomeOf(record), () => resultsMessage([result]))
  }

  private end(index: number, state: CallState): void {
    this.states[index] = state
    if (state._tag === "Done") noteResult(this.calls, state.result)
    const followed = this.followed?.get(index)
    if (followed !== undefined) Deferred.doneUnsafe(followed, Effect.void)
  }

  /** The index of the first call of the answer that is equal to this one. */
  private firstOf(raw: RequestedCall): number {
    if (this.firsts === undefined) {
      this.firsts = new Map()
      for (const [index, other] of this.raws.entries()) {
        const key = callKey(other)
        if (!this.firsts.has(key)) this.firsts.set(key, index)
      }
    }
    return this.firsts.get(callKey(raw))!
  }

  /** Runs a call, or answers it by an equal call of the same answer if its tool is executed once for both. */
  private make(
    calls: RoundContext,
    raw: RequestedCall,
    index: number,
    onEnd: OnEnd
  ): Effect.Effect<CallOutcome, unknown, unknown> {
    const equal = this.raws.length === 1 ? undefined : ofEqualCalls(calls, raw)
    const first = equal === undefined ? index : this.firstOf(raw)
    if (first === index) return one(calls, raw, onEnd)
    if (equal === "first") {
      const result = duplicate(calls, raw, this.raws[first]!.id)
      return inCallSpan(calls, raw, Effect.suspend(() => delivered(calls, result)), { onEnd })
    }
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
        : one(calls, raw, onEnd))
  }

  /** How a call has ended, once it has. */
  private ended(index: number): Effect.Effect<CallState | undefined> {
    if (this.states[index]?._tag !== "Running") return Effect.sync(() => this.states[index])
    const followed = this.followed ??= new Map()
    let ended = followed.get(index)
    if (ended === undefined) followed.set(index, ended = Deferred.makeUnsafe<void>())
    return Effect.map(Deferred.await(ended), () => this.states[index])
  }

  private announce(state: CallState): Effect.Effect<void> {
    const { run } = this.calls
    if (state._tag === "Done") return announce(run, state.result)
    // What waits within an agent has been announced there.
    return state._tag === "Waiting" && state.nested === undefined
      ? Effect.forEach(state.pending, (pending) => announcePending(run, pending), { discard: true })
      : Effect.void
  }

  get results(): ReadonlyArray<CallResult> {
    return this.complete ?? this.states.filter((state) => state?._tag === "Done").map(({ result }) => result)
  }

  get waiting(): ReadonlyArray<Waiting> {
    return this.complete === undefined ? this.states.filter((state) => state?._tag === "Waiting") : []
  }

  get allFailed(): boolean {
    return this.results.every(({ isFailure }) => isFailure)
  }

  /** Writes all results into the transcript; calls that have none get one that says why. `ends`: whether the run does. */
  commit(ends: boolean): Effect.Effect<void> {
    const { results } = this
    this.calls.session.withdraw = undefined
    if (results.length === this.raws.length) return this.write(this.complete = results, ends)
    // It waits: each call has come to something.
    if (!ends) this.calls.session.withdraw = this.withdraw()
    const missing: Array<CallResult> = []
    const cutOff = this.raws.flatMap((raw, index) => {
      const state = this.states[index]?._tag
      return state === undefined || state === "Running"
        ? [withdrawQuestionsAtEnd(this.calls, raw, this.resumptions.get(raw.id))]
        : []
    })
    const calledOff = () => Effect.all([this.calledOff(), ...cutOff], { discard: true })
    return Effect.flatMap(
      Effect.forEach(this.raws, (raw, index) => this.resultOf(raw, this.states[index], ends, missing)),
      (all) =>
        Effect.andThen(
          this.write(all, ends),
          behind(ends ? Effect.suspend(calledOff) : Effect.void, () => this.announceMissing(missing))
        )
    )
  }

  /** Nobody will be asked about what waits: whoever was shown a question learns that it is off. */
  private withdraw(): Effect.Effect<void> {
    const { run, shown } = this.calls
    const waiting = this.raws.flatMap((raw, index) => {
      const state = this.states[index]
      return state?._tag === "Waiting" ? [undecided(run, shown, raw, state)] : []
    })
    return behind(Effect.suspend(() => this.calledOff()), () => this.announceMissing(waiting))
  }

  private calledOff(): Effect.Effect<void> {
    return Effect.forEach(this.raws, (raw, index) => {
      const state = this.states[index]
      return state?._tag === "Waiting" ? withdrawQuestionsOf(this.calls, raw, state) : Effect.void
    }, { discard: true })
  }

  /** Announces calls that never began as begun and ended at once: for listeners every result has a start. */
  private announceMissing(results: ReadonlyArray<CallResult>): Effect.Effect<void> {
    return announceEach(this.calls.run, results, ({ call }) => {
      const isTold = this.calls.told?.has(call.id) === true || this.resumed?.waiting.has(call.id) === true
      return isTold ? Effect.void : announceStart(this.calls, call)
    })
  }

  private write(results: ReadonlyArray<CallResult>, ends: boolean): Effect.Effect<void> {
    this.calls.session.transcript.results(results)
    this.calls.records.clear()
    // A round that waits is not done: its other calls run when it goes on, as if it had not waited.
    if (ends || this.waiting.length === 0) taint(this.calls.run, results)
    return Effect.void
  }

  private resultOf(
    raw: RequestedCall,
    state: CallState | undefined,
    ends: boolean,
    missing: Array<CallResult>
  ): Effect.Effect<CallResult> {
    const { run, shown, tools } = this.calls
    if (state?._tag === "Done") return Effect.succeed(state.result)
    if (state?._tag === "Waiting") {
      // No person decides about it any more: listeners learn that the question is withdrawn.
      const result = undecided(run, shown, raw, state)
      if (ends) missing.push(result)
      return Effect.succeed(result)
    }
    const ended = endedResult(this.calls, raw, state, this.resumptions.get(raw.id)?.waiting)
    return Effect.map(
      deliverLast(
        shown,
        run,
        tools.get(raw.name)?.tool.info,
        ended,
        errorOf(state),
        this.calls.readWithin?.get(raw.id)
      ),
      (delivered) => {
        missing.push(delivered)
        return delivered
      }
    )
  }
}

/**
 * Runs calls, so many at once, in fibers that are all forked at the beginning: each takes one call after the other. A fiber that `forEach`
 * forks later is not interrupted where its first steps interrupt the run.
 */
const inLanes = (
  round: Round,
  raws: ReadonlyArray<RequestedCall>,
  concurrency: RoundContext["concurrency"]
): Effect.Effect<void, unknown, unknown> => {
  if (raws.length === 1) return round.run(raws[0]!, 0)
  let next = 0
  const lane = Effect.whileLoop({
    while: () => next < raws.length,
    body: () => {
      const index = next++
      return round.run(raws[index]!, index)
    },
    step: () => undefined
  })
  const lanes = concurrency === "unbounded" ? raws.length : Math.min(concurrency, raws.length)
  return lanes <= 1
    ? lane
    : Effect.forEach(Array.from({ length: lanes }), () => lane, { concurrency: "unbounded", discard: true })
}

/**
 * Begins the calls of one answer: the effect runs them, once, and commits their results. When one of them ends the run,
 * or the run is interrupted, what has completed keeps its result and everything else gets one that says so. A call that
 * waits for an approval lets the others run; its result says that it waits.
 */
export const runAll = (
  calls: RoundContext,
  raws: ReadonlyArray<RequestedCall>,
  resumed: Resumed | undefined,
  restore: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
): Effect.Effect<RoundOutcome, unknown, unknown> => {
  const round = new Round(calls, raws, resumed)
  return Effect.as(
    after(restore(inLanes(round, raws, calls.concurrency)), (exit) => round.commit(Exit.isFailure(exit))),
    round
  )
}

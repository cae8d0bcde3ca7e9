/** Runs the tool calls of one answer: in parallel, each with exactly one result, in the order of the calls. */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { Decision } from "../Approval.ts"
import * as ErrorProjection from "../ErrorProjection.ts"
import { announce, announcePending } from "./announce.ts"
import { type Calls, delivered, failed, type Outcome, repeated, unknown, type Waiting } from "./calls.ts"
import { calledOffWithin } from "./calledOff.ts"
import { decide } from "./decide.ts"
import { deliver } from "./delivery.ts"
import { execute, observed } from "./execute.ts"
import type { RawCall } from "./modelCall.ts"
import { after, type Run } from "./run.ts"
import type { CallResult } from "./transcript.ts"

/** What is known about the calls of a round that is resumed. */
export interface Resumed {
  readonly results: ReadonlyMap<string, CallResult>
  readonly waiting: ReadonlyMap<string, Waiting>
  readonly decisions: ReadonlyMap<string, Decision>
}

const one = (calls: Calls, raw: RawCall): Effect.Effect<Outcome, unknown, unknown> => {
  const tool = calls.tools.get(raw.name)
  const outcome = repeated(calls, raw)
  if (outcome !== undefined) {
    const failure = ErrorProjection.repeatedCall(outcome.times, outcome.code, calls.run.id, calls.shown.user)
    return observed(calls, raw, Effect.suspend(() => delivered(calls, failed(raw, failure))))
  }
  return tool === undefined
    ? observed(calls, raw, Effect.suspend(() => delivered(calls, unknown(calls, raw))))
    : observed(calls, raw, execute(calls, tool, raw, { arguments: raw.params }))
}

/** The result of a call that ended the run, or that the run's end interrupted. */
const endedResult = (
  { run, shown: { user } }: Calls,
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

/**
 * Taints a run. Only when a round is done: the model had not read the result when it made the other calls of the round,
 * so that what these may do does not hang on which call was faster.
 */
const taint = (run: Run, results: ReadonlyArray<CallResult>): void => {
  for (const { taints } of results) {
    if (taints !== undefined && !run.taintedBy.includes(taints)) run.taintedBy.push(taints)
  }
}

/** What became of a round: all its calls failed, or not; or some wait. */
export interface RoundOutcome {
  readonly allFailed: boolean
  readonly results: ReadonlyArray<CallResult>
  readonly waiting: ReadonlyArray<Waiting>
}

/** The calls of one answer while they run. */
class Round {
  readonly calls: Calls
  readonly raws: ReadonlyArray<RawCall>
  readonly resumed: Resumed | undefined
  readonly results: Array<CallResult | undefined>
  readonly waiting: Array<Waiting | undefined>
  /** How the calls ended that have neither a result nor wait; `"running"` while they run. */
  readonly others: Array<Exit.Exit<unknown, unknown> | "running" | undefined> = []

  constructor(calls: Calls, raws: ReadonlyArray<RawCall>, resumed: Resumed | undefined) {
    this.calls = calls
    this.raws = raws
    this.resumed = resumed
    this.results = raws.map((raw) => resumed?.results.get(raw.id))
    this.waiting = raws.map(() => undefined)
  }

  /** Begins a call. */
  run(raw: RawCall, index: number): Effect.Effect<unknown, unknown, unknown> {
    if (this.results[index] !== undefined) return Effect.void
    this.others[index] = "running"
    const waiting = this.resumed?.waiting.get(raw.id)
    const call = this.resumed === undefined || waiting === undefined
      ? one(this.calls, raw)
      : decide(this.calls, raw, waiting, this.resumed.decisions)
    return after(call, (exit) => this.ended(index, waiting, exit))
  }

  private ended(
    index: number,
    before: Waiting | undefined,
    exit: Exit.Exit<Outcome, unknown>
  ): Effect.Effect<void> {
    const { run } = this.calls
    if (Exit.isFailure(exit)) {
      this.others[index] = exit
      return Effect.void
    }
    if (exit.value._tag === "Waiting") {
      const waiting = exit.value
      this.waiting[index] = waiting
      // What waits within an agent has been announced there.
      return waiting === before || waiting.nested !== undefined
        ? Effect.void
        : Effect.forEach(waiting.pending, (pending) => announcePending(run, pending), { discard: true })
    }
    this.results[index] = exit.value.result
    return announce(run, exit.value.result)
  }

  /** Writes all results into the transcript; calls that have none get one that says why. `ends`: whether the run does. */
  commit(ends: boolean): Effect.Effect<void> {
    const { results } = this
    if (results.every((result) => result !== undefined)) return this.write(results)
    const missing: Array<CallResult> = []
    return Effect.flatMap(
      Effect.forEach(this.raws, (raw, index) => this.resultOf(raw, index, ends, missing)),
      (all) =>
        Effect.andThen(
          this.write(all),
          Effect.andThen(
            ends ? this.calledOff() : Effect.void,
            Effect.forEach(missing, (result) => announce(this.calls.run, result), { discard: true })
          )
        )
    )
  }

  private calledOff(): Effect.Effect<void> {
    const { run, shown } = this.calls
    return Effect.forEach(
      this.waiting,
      (waiting) => waiting?.nested === undefined ? Effect.void : calledOffWithin(run, shown, waiting.nested),
      { discard: true }
    )
  }

  private write(results: ReadonlyArray<CallResult>): Effect.Effect<void> {
    this.calls.session.transcript.results(results)
    taint(this.calls.run, results)
    return Effect.void
  }

  private resultOf(
    raw: RawCall,
    index: number,
    ends: boolean,
    missing: Array<CallResult>
  ): Effect.Effect<CallResult> {
    const { run, shown, tools } = this.calls
    const result = this.results[index]
    if (result !== undefined) return Effect.succeed(result)
    if (this.waiting[index] !== undefined) {
      const waits = failed(raw, ErrorProjection.waiting(run.id, shown.user))
      // Nobody will be asked about it: whoever was shown the question learns that it is off.
      if (ends) missing.push(waits)
      return Effect.succeed(waits)
    }
    const exit = this.others[index]
    const ended = endedResult(this.calls, raw, exit !== undefined, exit === "running" ? undefined : exit)
    return Effect.map(deliver(shown, run, tools.get(raw.name)?.tool.info, ended), (delivered) => {
      missing.push(delivered)
      return delivered
    })
  }

  outcome(): RoundOutcome {
    return {
      allFailed: this.results.every((result) => result?.isFailure === true),
      results: this.results.filter((result) => result !== undefined),
      waiting: this.waiting.filter((waiting) => waiting !== undefined)
    }
  }
}

/**
 * Begins the calls of one answer: the effect runs them, once, and commits their results. When one of them ends the run,
 * or the run is interrupted, what has completed keeps its result and everything else gets one that says so. A call that
 * waits for an approval lets the others run; its result says that it waits.
 */
export const runAll = (
  calls: Calls,
  raws: ReadonlyArray<RawCall>,
  resumed?: Resumed
): Effect.Effect<RoundOutcome, unknown, unknown> => {
  const round = new Round(calls, raws, resumed)
  const all = raws.length === 1
    ? round.run(raws[0]!, 0)
    : Effect.forEach(raws, (raw, index) => round.run(raw, index), { concurrency: calls.concurrency, discard: true })
  return Effect.map(after(all, (exit) => round.commit(Exit.isFailure(exit))), () => round.outcome())
}

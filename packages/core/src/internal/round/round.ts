/** Runs the tool calls of one answer in parallel. Each has exactly one result, also if the run ends or waits before the call has ended. */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Cause from "effect/Cause"
import { failed, repairedIn, type RoundContext } from "./roundContext.ts"
import type { CallResult, RequestedCall, Waiting } from "../run/callResult.ts"
import { behind } from "../foundation/effect/sequence.ts"
import type { CallState, Round } from "./roundCalls.ts"
import { announceEach } from "../result/announce.ts"
import { withdrawQuestionsAtEnd, withdrawQuestionsOf } from "./resume/withdrawQuestions.ts"
import { undecided } from "./resume/pausedResult.ts"
import { deliverLast } from "../result/delivery.ts"
import { announceStart } from "./callSpan.ts"
import type { Run } from "../run/run.ts"
import { taintRun } from "../run/state/runState.ts"
import { failureOfEnded, outcomeUnknown } from "../result/failureOf.ts"
import type { ToolFailure } from "../projection/toolFailure.ts"
import { unknownSince } from "./missingTool.ts"
import { outcomeUndecided } from "../approval/waitsWithin.ts"

/** Returns the failure of a call that an earlier execution has started, and that this one has not executed, or not as far as that one. */
const failureOfUnreached = (calls: RoundContext, call: RequestedCall): ToolFailure | undefined => {
  const { run, run: { log, scope }, shown } = calls
  if (log === undefined) return undefined
  const record = calls.records.get(call.id)
  if (record?.outcome.executed !== true) {
    return log.hasUnmatchedCall(scope, call.id) ? unknownSince(calls, call) : undefined
  }
  return log.hasUnmatchedWithin(scope, call.id) ? outcomeUnknown(record, run.id, shown.user) : undefined
}

/** The error with which a call ended the run. */
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
  const earlier = error === undefined ? failureOfUnreached(calls, call) : undefined
  return failed(call, earlier ?? failureOfEnded(record, error, run.id, user), repairedIn(record))
}

/**
 * Runs calls with a limit, in fibers that are all forked at the start: each takes one call after the other. A fiber
 * that `forEach` forks later is not interrupted if its first steps interrupt the run.
 */
const inLanes = (
  round: Round,
  raws: ReadonlyArray<RequestedCall>,
  concurrency: RoundContext["concurrency"]
): Effect.Effect<unknown, unknown, unknown> => {
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
 * Starts the calls of one answer: the effect runs them, once, and commits their results. When one of them ends the run,
 * or the run is interrupted, completed calls keep their results and all others receive a result with the reason. A call
 * that waits for an approval lets the others run; its result reports the wait.
 */
export const runAll = (
  round: Round,
  restore: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
): Effect.Effect<unknown, unknown, unknown> =>
  Effect.onExitPrimitive(
    restore(inLanes(round, round.raws, round.calls.concurrency)),
    (exit) => {
      const last = commit(round, Exit.isFailure(exit))
      return last === Effect.void ? undefined : last
    }
  )

/**
 * Taints a run. Only at the end of a round: the model had not read the result when it made the other calls of the
 * round, so their rights do not depend on the order of completion.
 */
const taint = (run: Run, results: ReadonlyArray<CallResult>): void => {
  for (const { taints } of results) if (taints !== undefined) taintRun(run, taints)
}

const withdrawQuestions = (round: Round): Effect.Effect<void> => {
  return Effect.forEach(round.raws, (raw, index) => {
    const state = round.states[index]
    return state?._tag === "Waiting" ? withdrawQuestionsOf(round.calls, raw, state) : Effect.void
  }, { discard: true })
}

/** Emits calls that never started as started and ended at once: for listeners every result has a start. */
const announceMissing = (round: Round, results: ReadonlyArray<CallResult>): Effect.Effect<void> => {
  return announceEach(round.calls.run, results, ({ call }) => {
    const isReported = round.calls.emittedStarts.has(call.id) || round.resumed?.waiting.has(call.id) === true
    return isReported ? Effect.void : announceStart(round.calls, call)
  })
}

const write = (round: Round, results: ReadonlyArray<CallResult>, ends: boolean): Effect.Effect<void> => {
  round.calls.session.transcript.results(results)
  round.calls.records.clear()
  // A waiting round is not complete: its other calls run at its resumption, as if it had not waited.
  if (ends || round.waiting.length === 0) taint(round.calls.run, results)
  return Effect.void
}

/** Withdraws waiting calls: people who were shown a question learn of it. */
const withdraw = (round: Round): Effect.Effect<void> => {
  const { run, shown } = round.calls
  const waiting = round.raws.flatMap((raw, index) => {
    const state = round.states[index]
    return state?._tag === "Waiting" ? [undecided(run, shown, raw, state)] : []
  })
  return behind(Effect.suspend(() => withdrawQuestions(round)), () => announceMissing(round, waiting))
}

const resultOf = (
  round: Round,
  raw: RequestedCall,
  state: CallState | undefined,
  ends: boolean,
  missing: Array<CallResult>
): Effect.Effect<CallResult> => {
  const { records, run, shown, tools } = round.calls
  if (state?._tag === "Done") return Effect.succeed(state.result)
  if (state?._tag === "Waiting") {
    // No person decides about it any more: listeners learn that the question is withdrawn.
    const result = undecided(run, shown, raw, state)
    if (ends) missing.push(result)
    return Effect.succeed(result)
  }
  const ended = endedResult(round.calls, raw, state, round.resumptions.get(raw.id)?.waiting)
  return Effect.map(
    deliverLast(
      shown,
      run,
      tools.get(raw.name)?.tool.info,
      ended,
      errorOf(state),
      records.get(raw.id)?.marks.read
    ),
    (delivered) => {
      missing.push(delivered)
      return delivered
    }
  )
}

/** Writes all results into the transcript; calls that have none get one that says why. `ends`: whether the run does. */
export const commit = (round: Round, ends: boolean): Effect.Effect<void> => {
  const { results } = round
  round.calls.session.withdraw = undefined
  if (results.length === round.raws.length) return write(round, results, ends)
  // It waits: each call has come to something.
  if (!ends) round.calls.session.withdraw = withdraw(round)
  const missing: Array<CallResult> = []
  const cutOff = round.raws.flatMap((raw, index) => {
    const state = round.states[index]?._tag
    return state === undefined || state === "Running"
      ? [withdrawQuestionsAtEnd(round.calls, raw, round.resumptions.get(raw.id))]
      : []
  })
  const calledOff = () => Effect.all([withdrawQuestions(round), ...cutOff], { discard: true })
  return Effect.flatMap(
    Effect.forEach(round.raws, (raw, index) => resultOf(round, raw, round.states[index], ends, missing)),
    (all) =>
      Effect.andThen(
        write(round, all, ends),
        behind(ends ? Effect.suspend(calledOff) : Effect.void, () => announceMissing(round, missing))
      )
  )
}

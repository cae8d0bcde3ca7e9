/** Results of a round: each call gets exactly one, also if the run ends or waits before the call has ended. */
import * as Effect from "effect/Effect"
import { announceEach } from "../result/announce.ts"
import type { CallResult, RequestedCall } from "../run/callResult.ts"
import { withdrawQuestionsAtEnd, withdrawQuestionsOf } from "./resume/withdrawQuestions.ts"
import { undecided } from "./resume/pausedResult.ts"
import { deliverLast } from "../result/delivery.ts"
import { announceStart } from "./callSpan.ts"
import { behind } from "../foundation/effect/sequence.ts"
import type { Run } from "../run/run.ts"
import { taintRun } from "../run/state/reading.ts"
import { type CallState, endedResult, errorOf } from "./callState.ts"
import type { Round } from "./roundCalls.ts"

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
    const isReported = round.calls.told?.has(call.id) === true || round.resumed?.waiting.has(call.id) === true
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
  const { run, shown, tools } = round.calls
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
      round.calls.readWithin?.get(raw.id)
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
  if (results.length === round.raws.length) return write(round, round.complete = results, ends)
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

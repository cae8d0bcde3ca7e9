/** Ended rounds: the results of calls that have none when their round ends or waits, and the events of these calls. */
import * as Cause from "effect/Cause"
import type * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type { Decision } from "../approval/decision.ts"
import { outcomeUndecided } from "../approval/waitsWithin.ts"
import { behind } from "../foundation/effect/sequence.ts"
import type { ToolFailure } from "../projection/toolFailure.ts"
import { announceEach } from "../result/announce.ts"
import { deliverLast } from "../result/delivery.ts"
import { failureOfEnded, outcomeUnknown, withUncertainty } from "../result/failureOf.ts"
import type { CallOutcome, CallResult, RequestedCall, Waiting } from "../run/callResult.ts"
import { announceStart } from "./runCall.ts"
import { unknownSince } from "./missingTool.ts"
import { undecided } from "./resume/pausedResult.ts"
import { type Resumption, withdrawQuestionsAtEnd, withdrawQuestionsOf } from "./resume/withdrawQuestions.ts"
import { failed, type RoundContext } from "./roundContext.ts"
import { repairedIn } from "./runCall.ts"

/** State of a resumed round's calls. */
export interface Resumed {
  readonly results: ReadonlyMap<string, CallResult>
  readonly waiting: ReadonlyMap<string, Waiting>
  readonly decisions: ReadonlyMap<string, Decision>
}

/** A call runs. `ended` is done when it has a result for which another call of the answer waits. */
interface Running {
  readonly _tag: "Running"
  readonly ended?: Deferred.Deferred<void>
}

/** A call is not started, runs, has ended with its outcome, or has ended the run. */
export type CallState = CallOutcome | Running | {
  readonly _tag: "Failed"
  readonly cause: Cause.Cause<unknown>
}

/** The calls of one answer with their states. */
export interface RoundState {
  readonly calls: RoundContext
  readonly raws: ReadonlyArray<RequestedCall>
  readonly resumed: Resumed | undefined
  readonly states: ReadonlyArray<CallState | undefined>
  /** The waiting calls with their resumptions. */
  readonly resumptions: ReadonlyMap<string, Resumption>
}

/** Returns the failure of a call that an earlier execution has started, and that this one has not executed, or not as far as that one. */
const failureOfUnreached = (calls: RoundContext, call: RequestedCall): ToolFailure | undefined => {
  const { run, run: { log, scope }, shown } = calls
  if (log === undefined) return undefined
  const record = calls.started.get(call.id)?.record
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
  const { run, shown, shown: { user }, started } = calls
  const record = started.get(call.id)?.record
  if (waited !== undefined && outcomeUndecided(waited) === "unknown" && record === undefined) {
    return undecided(run, shown, call, waited)
  }
  const error = errorOf(state)
  const earlier = error === undefined ? failureOfUnreached(calls, call) : undefined
  return failed(call, earlier ?? failureOfEnded(record, error, run.id, user), repairedIn(record))
}

const withdrawQuestions = (round: RoundState): Effect.Effect<void> => {
  return Effect.forEach(round.raws, (raw, index) => {
    const state = round.states[index]
    return state?._tag === "Waiting" ? withdrawQuestionsOf(round.calls, raw, state) : Effect.void
  }, { discard: true })
}

/** Emits calls that never started as started and ended at once: for listeners every result has a start. */
const announceMissing = (round: RoundState, results: ReadonlyArray<CallResult>): Effect.Effect<void> => {
  return announceEach(round.calls.run, results, ({ call }) => {
    const isReported = round.calls.started.get(call.id)?.isEmitted === true ||
      round.resumed?.waiting.has(call.id) === true
    return isReported ? Effect.void : announceStart(round.calls, call)
  })
}

/** Withdraws waiting calls: people who were shown a question learn of it. */
const withdraw = (round: RoundState): Effect.Effect<void> => {
  const { run, shown } = round.calls
  const waiting = round.raws.flatMap((raw, index) => {
    const state = round.states[index]
    return state?._tag === "Waiting" ? [undecided(run, shown, raw, state)] : []
  })
  return behind(Effect.suspend(() => withdrawQuestions(round)), () => announceMissing(round, waiting))
}

const resultOf = (
  round: RoundState,
  raw: RequestedCall,
  state: CallState | undefined,
  ends: boolean,
  missing: Array<CallResult>
): Effect.Effect<CallResult> => {
  const { run, shown, started, tools } = round.calls
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
      started.get(raw.id)?.record?.marks.read
    ),
    (delivered) => {
      const result = withUncertainty(started.get(raw.id)?.record, delivered)
      missing.push(result)
      return result
    }
  )
}

/** Gives each call without a result one with the reason, and writes all of them. `ends`: whether the run does. */
export const endRound = (
  round: RoundState,
  ends: boolean,
  write: (results: ReadonlyArray<CallResult>) => void
): Effect.Effect<void> => {
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
    (all) => {
      write(all)
      return behind(ends ? Effect.suspend(calledOff) : Effect.void, () => announceMissing(round, missing))
    }
  )
}

/**
 * One attempt of a tool call, as the list of its steps. Recovery is around the attempt: running the effect again is the
 * next attempt.
 *
 * The order is a rule, and each part of it has a reason:
 *
 * - `replayFailure` comes before `chargeRetry`, because an earlier execution has paid for the failure.
 * - `answerFromLog` comes before `readArguments` and `admitCall`, because no schema and no policy of today takes a start back.
 * - `admitCall` and `awaitReplay` come before `announceStart`, because a denied call is not announced.
 * - `claimKey` and `claimPlace` come before `chargeCall`, because an answer of the ledger and a refusal are not charged.
 * - `chargeCall` and `executeOnce` check again if the call may run, because the steps before them may wait.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import { CurrentRun } from "../../run/run.ts"
import { ToolCall } from "../call.ts"
import type { PassThrough } from "../execute/passThrough.ts"
import { type Executable, idempotencyOf } from "../execute/executeTool.ts"
import type { AttemptError } from "../attemptError.ts"
import { setTool } from "../record/attempts.ts"
import {
  admitCall,
  announceStart,
  chargeCall,
  chargeRetry,
  executeOnce,
  numberAttempt,
  readArguments,
  refuseClosed,
  refuseDetachedCall,
  restartChildren
} from "./commonSteps.ts"
import { answerFromLog, answerFromSnapshot, matchLog, replayFailure } from "./replaySteps.ts"
import { appendStart, awaitReplay, claimKey, claimPlace } from "./writeSteps.ts"
import { type AttemptedTool, AttemptState, type Next, type Step } from "./attemptState.ts"
import { argumentsDecoder } from "../arguments/toolArguments.ts"

/**
 * Attempts that need a step: `inner`: the call is made in another call, or again after a pause. `logged`: its run has a journal. `write`: the
 * tool may write, or has a key.
 */
type Need = "inner" | "logged" | "write"

const steps: ReadonlyArray<readonly [step: Step, by: Need | "all"]> = [
  [refuseDetachedCall, "inner"],
  [answerFromSnapshot, "inner"],
  [restartChildren, "all"],
  [refuseClosed, "all"],
  [replayFailure, "logged"],
  [chargeRetry, "all"],
  [numberAttempt, "all"],
  [answerFromLog, "logged"],
  [readArguments, "all"],
  [admitCall, "all"],
  [awaitReplay, "write"],
  [announceStart, "all"],
  [matchLog, "logged"],
  [claimKey, "write"],
  [claimPlace, "write"],
  [chargeCall, "all"],
  [appendStart, "write"]
]

const needs: ReadonlyArray<Need> = ["inner", "logged", "write"]

/** The steps of attempts that have these needs. The needs are bits of a number. */
const compose = (bits: number): Next =>
  steps.reduceRight<Next>(
    (next, [step, by]) => by === "all" || (bits & (1 << needs.indexOf(by))) !== 0 ? step(next) : next,
    executeOnce
  )

/** Composed at the first attempt of a kind, so that the engine can inline the steps of programs with one kind. */
const attempts: Array<Next | undefined> = []

const needsOf = ({ call, call: { record }, run, tool }: AttemptState): number => {
  const isInner = record.parent !== undefined || record.around !== undefined ||
    record.replay.callsBeforePause !== undefined
  const mayWrite = tool.info.effects !== "read" || idempotencyOf(tool, call) !== undefined
  return (isInner ? 1 : 0) | (run?.log === undefined ? 0 : 2) | (mayWrite ? 4 : 0)
}

const attemptOnce: Next = (attempt) => {
  const bits = needsOf(attempt)
  return (attempts[bits] ??= compose(bits))(attempt)
}

export interface AttemptOptions<Params, A, D, R> extends Executable<Params, A, D, R> {
  readonly parameters: Schema.Decoder<Params, R>
}

/** The effect that is one attempt. */
export const make = <Params, A, D, R>(
  options: AttemptOptions<Params, A, D, R>
): Effect.Effect<A, AttemptError | PassThrough, ToolCall | R> => {
  const { info, parameters } = options
  const decode = argumentsDecoder(parameters, info.onUnknownKeys === "refuse" ? "error" : "ignore")
  const tool = { ...options, decode } as unknown as AttemptedTool
  return Effect.contextWith((ambient: Context.Context<ToolCall>) => {
    const context = ambient as Context.Context<never>
    const call = Context.get(ambient, ToolCall)
    setTool(call.record, info)
    return attemptOnce(new AttemptState(tool, call, Context.get(context, CurrentRun), context))
  }) as Effect.Effect<A, AttemptError | PassThrough, ToolCall | R>
}

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
import * as Result from "effect/Result"
import * as Option from "effect/Option"
import * as Telemetry from "../../run/observe/telemetry.ts"
import * as Arguments from "../arguments/toolArguments.ts"
import { CurrentRun, type Run } from "../../run/run.ts"
import { type Call, mayRunAgain, ToolCall } from "../call.ts"
import type { PassThrough } from "../execute/effects.ts"
import { type Executable, execute } from "../execute/executeTool.ts"
import type { AttemptError } from "../attemptError.ts"
import { setTool, startAttempt } from "../record/attempts.ts"
import { answerFromLog, answerFromSnapshot, matchLog, replayFailure } from "./replaySteps.ts"
import { appendStart, awaitReplay, claimKey, claimPlace } from "./writeSteps.ts"
import {
  type AttemptedTool,
  type Attempting,
  type AttemptState,
  type Next,
  type Step,
  todayOf
} from "./attemptState.ts"
import { argumentsDecoder, asJson } from "../arguments/toolArguments.ts"
import { noteChange, use } from "../../run/state/runState.ts"
import { forgetMadeCalls } from "../children/childCall.ts"
import { noChildren } from "../record/children.ts"
import { refuseDetached } from "../children/detachedCall.ts"
import { refuse, withdraw } from "../refusal.ts"
import { CurrentRetryBudget } from "../../../RetryBudget.ts"
import * as Exit from "effect/Exit"
import { isGivenUp, noteRepetition } from "../repetition.ts"
import { moment } from "../../foundation/effect/retriedFailures.ts"
import { noMarks } from "../record/marks.ts"
import { noRecovery, useMarks } from "../record/recovering.ts"
import { announceAttempt, announceEnd, failAttempt, resumedNumber } from "../attemptLog.ts"
import { noteArguments, noteUntrusted } from "../children/untrustedContent.ts"
import { fromIssue } from "../../foundation/schema/schemaIssues.ts"
import { refuseUnlessStarted } from "../replay/resolveKey.ts"
import { admit, isOpen } from "../admissionGate.ts"
import { stoppedUnlessStarted } from "../replay/stoppedUnlessStarted.ts"
import { noteAnswer } from "../record/outcome.ts"
import { notInLedger } from "../ledger/ledgerLookup.ts"
import { type ErrorFields, isStopped, repeatStop } from "../record/record.ts"
import { InvalidArgs } from "../../../ToolError.ts"

/** Announces the attempt and fails it with `InvalidArgs`. A reader of the issues reads the schema, and a fixer reads the description. */
const invalidArguments = (
  attempt: AttemptState,
  issues: InvalidArgs["issues"]
): Effect.Effect<never, AttemptError> => {
  const { description, effects, name } = attempt.tool.info
  if (description.isForeign) noteUntrusted(attempt, name)
  const isRead = effects === "read" ? { isRead: true } as const : undefined
  const make = (fields: ErrorFields) => new InvalidArgs({ ...fields, issues, ...isRead })
  return Effect.flatMapEager(announceAttempt(attempt), () => failAttempt(attempt, { error: "InvalidArgs" }, make))
}

/** The calls that this attempt makes take the place of those that the attempt before made. */
const restartChildren: Step = (next) => (attempt) => {
  // A write may wait until this call is made.
  if (attempt.run?.counts.admitted.change !== undefined) noteChange(attempt.run)
  if (attempt.call.record.children !== noChildren) forgetMadeCalls(attempt.call)
  return next(attempt)
}

/** Refuses a call that a detached fiber makes after the call around it has ended. */
const refuseDetachedCall: Step = (next) => (attempt) => refuseDetached(attempt.call.record) ?? next(attempt)

/** Refuses a call that may not run any more. */
const refuseClosed: Step = (next) => (attempt) => {
  const { call, run } = attempt
  return call.record.recovering.closedBy !== undefined || call.closed === true ||
      (call.record.outcome.executed && !mayRunAgain(call))
    ? refuse(call, run)
    : next(attempt)
}

/** Charges a retry to the retry budget of the process and to the budget of the run. A first attempt makes a deposit. */
const chargeRetry: Step = (next) => (attempt) => {
  const { call, context, run, tool: { info } } = attempt
  const { record } = call
  const isRetry = record.attempts.count > 0 && !record.recovering.isFix
  if (isRetry && !record.recovering.isRetryPaid && isGivenUp(record, call.arguments)) return refuse(call, run)
  if (record.attempts.count > 0) noteRepetition(record, record.attempts.count + 1)
  const isPaid = record.recovering === noRecovery ? false : useMarks(record)
  if (!isRetry) {
    const deposit = record.attempts.count > 0 ? undefined : Context.get(context, CurrentRetryBudget)?.deposit
    return deposit === undefined ? next(attempt) : Effect.flatMapEager(deposit, () => next(attempt))
  }
  return Effect.flatMapEager(isPaid ? Effect.succeed(true) : withdraw(context), (isPaid): Attempting => {
    if (!isPaid) return refuse(call, run, "retry_budget")
    const charged = run === undefined ? Effect.void : run.account.chargeNow("retriesPerTool", info.name)
    return Effect.flatMapEager(charged, () => {
      Telemetry.countToolRetry(context, { tool: info.name })
      use(run, "retries", 1)
      return next(attempt)
    })
  })
}

/** Numbers the attempt, records its arguments, and announces its end. */
const numberAttempt: Step = (next) => (attempt) => {
  const { call, run } = attempt
  if (call.record.marks !== noMarks || call.record.parent !== undefined) noteArguments(call.record, call.arguments)
  const nth = startAttempt(call.record, call, moment())
  const { admission: { continuation }, attempts: { countBefore } } = call.record
  const number = continuation === undefined ? countBefore + nth : resumedNumber(run, call)
  const numbered = { ...attempt, nth, number }
  return run?.audience === undefined
    ? next(numbered)
    : Effect.onExitPrimitive(next(numbered), (exit) => announceEnd(numbered, exit))
}

/** Reads the arguments and decodes them by the schema of the tool. */
const readArguments: Step = (next) => (attempt) => {
  const { call, tool } = attempt
  const read = Arguments.readSized(call.arguments)
  if (Result.isFailure(read)) return refuseUnlessStarted(todayOf(attempt), invalidArguments(attempt, read.failure))
  const raw = read.success.object
  const decoded = tool.decode(read.success)
  const continueWith = (params: unknown) => next({ ...attempt, raw, params })
  if (Exit.isExit(decoded) && Exit.isSuccess(decoded)) return continueWith(decoded.value)
  return Effect.matchEffect(decoded, {
    onFailure: ({ issue }) =>
      refuseUnlessStarted(todayOf(attempt), invalidArguments(attempt, fromIssue(issue, { messages: true }))),
    onSuccess: continueWith
  })
}

/** Policies and the tool decide about the call. A person or a policy may answer in the tool's place. */
const admitCall: Step = (next) => (attempt) => {
  const { call, params, raw, tool: { info, parameters, success } } = attempt
  const isAdmitted = isOpen(info, call)
  if (isAdmitted && attempt.idempotency === undefined) return next(attempt)
  return Effect.flatMapEager(
    Effect.catchEager(asJson(parameters, raw, params), (issues) => invalidArguments(attempt, issues)),
    (raw): Attempting => {
      const asked = { ...attempt, raw }
      if (isAdmitted) return next(asked)
      return stoppedUnlessStarted(todayOf(asked), admit(info, call, raw, params, success), (answer) => {
        if (Option.isNone(answer)) return next(asked)
        noteAnswer(call.record, answer)
        return Effect.succeed(answer.value)
      })
    }
  )
}

/** Announces the attempt, and marks the call as untrusted if its tool is. A ledger's answer has the same text. */
const announceStart: Step = (next) => (attempt) => {
  const { number, run, tool: { info } } = attempt
  const started = () => {
    if (info.results.areUntrusted) noteUntrusted(attempt, info.name)
    return next(attempt)
  }
  return run?.audience === undefined && number === 1
    ? started()
    : Effect.flatMapEager(announceAttempt(attempt), started)
}

/** True if an attempt starts now: that of a resumed agent started before the pause. */
const isNew = ({ call: { record } }: AttemptState): boolean => record.admission.continuation === undefined

/** Charges the call to the budget of the run. A call that may not run is not charged: another attempt may have started since. */
const chargeCall: Step = (next) => (attempt) => {
  const { call, run } = attempt
  if (call.lookupOnly === true) return notInLedger
  if (run === undefined || !isNew(attempt)) return next(attempt)
  if (isStopped(call.record)) return repeatStop
  if (call.record.outcome.executed && !mayRunAgain(call)) return refuse(call, run)
  return Effect.flatMapEager(run.account.chargeNow("toolCalls"), () => next(attempt))
}

/** Executes the tool once, within its timeout. */
const executeOnce: Next = (attempt) => {
  return execute(attempt.tool, attempt, attempt.run !== undefined && isNew(attempt))
}

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

const needsOf = ({ call: { record }, idempotency, run, tool }: AttemptState): number => {
  const isInner = record.parent !== undefined || record.around !== undefined ||
    record.replay.callsBeforePause !== undefined
  const mayWrite = tool.info.effects !== "read" || idempotency !== undefined
  return (isInner ? 1 : 0) | (run?.log === undefined ? 0 : 2) | (mayWrite ? 4 : 0)
}

const attemptOnce: Next = (attempt) => {
  const bits = needsOf(attempt)
  return (attempts[bits] ??= compose(bits))(attempt)
}

/** Returns an attempt before its first step. `numberAttempt` numbers it. */
const newAttempt = (
  tool: AttemptedTool,
  call: Call,
  run: Run | undefined,
  context: Context.Context<never>
): AttemptState => ({
  tool,
  call,
  run,
  context,
  idempotency: tool.idempotency === "never" ? undefined : call.idempotency ?? tool.idempotency,
  emitted: { last: "nothing" },
  number: 0,
  nth: 0,
  raw: {},
  params: undefined,
  key: undefined
})

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
    if (call.record.attempts.tool !== info) setTool(call.record, info)
    return attemptOnce(newAttempt(tool, call, Context.get(context, CurrentRun), context))
  }) as Effect.Effect<A, AttemptError | PassThrough, ToolCall | R>
}

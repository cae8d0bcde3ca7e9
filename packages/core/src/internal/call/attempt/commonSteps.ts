/** Steps that every attempt takes, in their order: from the refusal of a closed call to the execution of the tool. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Option from "effect/Option"
import { noteChange, use } from "../../run/state/counts.ts"
import { forgetMadeCalls } from "../children/childCall.ts"
import { hasChildren } from "../record/children.ts"
import type { Attempting, Next, Step } from "./attemptState.ts"
import { refuseDetached } from "../children/detachedCall.ts"
import { mayRunAgain } from "../call.ts"
import { refuse, withdraw } from "../refusal.ts"
import { CurrentRetryBudget } from "../../../RetryBudget.ts"
import { valueOf } from "../../foundation/effect/sequence.ts"
import * as Telemetry from "../../run/observe/counters.ts"
import { isGivenUp, noteStart } from "../repetition.ts"
import { useMarks } from "../record/recovering.ts"
import { announceAttempt, announceEnd, numberFor } from "../attemptLog.ts"
import { noteArguments, noteUntrusted } from "../children/untrustedContent.ts"
import { noteRequested, startAttempt } from "../record/attempts.ts"
import { fromIssue } from "../../foundation/schema/schemaIssues.ts"
import * as Arguments from "../arguments/toolArguments.ts"
import { asJson } from "../arguments/toolArguments.ts"
import { refuseUnlessStarted } from "../replay/resolveKey.ts"
import { invalidArguments } from "../arguments/invalidArguments.ts"
import { execute, idempotencyOf } from "../execute/executeTool.ts"
import { admit, isOpen } from "../admissionGate.ts"
import { stoppedUnlessStarted } from "../replay/stoppedUnlessStarted.ts"
import { noteAnswer } from "../record/outcome.ts"
import { notInLedger } from "../ledger/ledgerLookup.ts"
import { isStopped, repeatStop } from "../stop.ts"

/** The calls that this attempt makes take the place of those that the attempt before made. */
export const restartChildren: Step = (next) => (attempt) => {
  // A write may wait until this call is made.
  noteChange(attempt.run)
  if (hasChildren(attempt.call.record)) forgetMadeCalls(attempt.call)
  return next(attempt)
}

/** Refuses a call that a detached fiber makes after the call around it has ended. */
export const refuseDetachedCall: Step = (next) => (attempt) => refuseDetached(attempt.call.record) ?? next(attempt)

/** Refuses a call that may not run any more. */
export const refuseClosed: Step = (next) => (attempt) => {
  const { call, run } = attempt
  return call.record.recovering.closedBy !== undefined || call.closed === true || !mayRunAgain(call)
    ? refuse(call, run)
    : next(attempt)
}

/** Charges a retry to the retry budget of the process and to the budget of the run. A first attempt makes a deposit. */
export const chargeRetry: Step = (next) => (attempt) => {
  const { call, context, run, tool: { info } } = attempt
  const { record } = call
  const isRetry = record.attempts.count > 0 && !record.recovering.isFix
  if (isRetry && !record.recovering.isRetryPaid && isGivenUp(record, call.arguments)) return refuse(call, run)
  noteStart(record)
  const isPaid = useMarks(record)
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
export const numberAttempt: Step = (next) => (attempt) => {
  const { call, run } = attempt
  attempt.nth = startAttempt(call.record)
  attempt.number = numberFor(run, call)
  noteArguments(call.record, call.arguments)
  noteRequested(call.record, call)
  return run?.audience === undefined
    ? next(attempt)
    : Effect.onExitPrimitive(next(attempt), (exit) => announceEnd(attempt, exit))
}

/** Reads the arguments and decodes them by the schema of the tool. */
export const readArguments: Step = (next) => (attempt) => {
  const { call, tool } = attempt
  const read = Arguments.readSized(call.arguments)
  if (Result.isFailure(read)) return refuseUnlessStarted(attempt.today, invalidArguments(attempt, read.failure))
  attempt.raw = read.success.object
  const decoded = tool.decode(read.success)
  const continueWith = (params: unknown) => {
    attempt.params = params
    return next(attempt)
  }
  const known = valueOf(decoded)
  if (known !== undefined) return continueWith(known.value)
  return Effect.matchEffect(decoded, {
    onFailure: ({ issue }) =>
      refuseUnlessStarted(attempt.today, invalidArguments(attempt, fromIssue(issue, { messages: true }))),
    onSuccess: continueWith
  })
}

/** Policies and the tool decide about the call. A person or a policy may answer in the tool's place. */
export const admitCall: Step = (next) => (attempt) => {
  const { call, params, raw, tool, tool: { info, parameters, success } } = attempt
  const isAdmitted = isOpen(info, call)
  if (isAdmitted && idempotencyOf(tool, call) === undefined) return next(attempt)
  const answered = (answer: Option.Option<unknown>): Attempting => {
    if (Option.isNone(answer)) return next(attempt)
    noteAnswer(call.record, answer)
    return Effect.succeed(answer.value)
  }
  return Effect.flatMapEager(
    Effect.catchEager(asJson(parameters, raw, params), (issues) => invalidArguments(attempt, issues)),
    (json): Attempting => {
      attempt.raw = json
      return isAdmitted
        ? next(attempt)
        : stoppedUnlessStarted(attempt.today, admit(info, call, json, params, success), answered)
    }
  )
}

/** Announces the attempt, and marks the call as untrusted if its tool is. A ledger's answer has the same text. */
export const announceStart: Step = (next) => (attempt) =>
  Effect.flatMapEager(announceAttempt(attempt), () => {
    const { info } = attempt.tool
    if (info.results.areUntrusted) noteUntrusted(attempt, info.name)
    return next(attempt)
  })

/** Charges the call to the budget of the run. A call that may not run is not charged: another attempt may have started since. */
export const chargeCall: Step = (next) => (attempt) => {
  const { call, run } = attempt
  if (call.lookupOnly === true) return notInLedger
  if (run === undefined || !attempt.isNew) return next(attempt)
  if (isStopped(call.record)) return repeatStop
  if (!mayRunAgain(call)) return refuse(call, run)
  return Effect.flatMapEager(run.account.chargeNow("toolCalls"), () => next(attempt))
}

/** Executes the tool once, within its timeout. */
export const executeOnce: Next = (attempt) => {
  const { key, params, run, tool } = attempt
  return execute(tool, attempt, params, key, run !== undefined && attempt.isNew)
}

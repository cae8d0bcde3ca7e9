/** Runs a tool's executor once: within its timeout, with the call's known effect afterwards, and with its error. */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Schema from "effect/Schema"
import { noteChange, noteStartedWrite, noteWritten } from "../../run/state/runState.ts"
import { Locale } from "../../../Catalogue.ts"
import { type Declared, OutcomeUnknown } from "../../../ToolError.ts"
import { type Interceptor, ToolInterceptor } from "../../../ToolInterceptor.ts"
import { isTagged } from "../../foundation/errorTags.ts"
import { provide } from "../../foundation/effect/provideService.ts"
import type { Idempotency } from "../../idempotency/idempotencyOptions.ts"
import { declaredBy } from "../../projection/declaration.ts"
import { type Attempt, entriesOf, failureOutcome, openEntry } from "../attemptLog.ts"
import { mayRunAgain, ToolCall } from "../call.ts"
import { committed, type Fate, type Transaction } from "./committedCall.ts"
import { refuseDetached } from "../children/detachedCall.ts"
import { type CallRecord, isStopped, outerOf, repeatStop, rootOf, waitsInAgent } from "../record/record.ts"
import { encodedResult, noteCompensable } from "../compensableWrite.ts"
import { executionFailed, ofUnknownOutcome, timedOut } from "./executionErrors.ts"
import { namingDefects } from "./executorDefect.ts"
import { afterExecution, isPassThrough, mayBeRepeated, noteWriteStart, type PassThrough } from "./effects.ts"
import { withIdleTimeout } from "./idleTimeout.ts"
import type { AttemptError } from "../attemptError.ts"
import { forgetDegraded } from "../record/marks.ts"
import {
  endExecution,
  forgetEnd,
  noteAnswer,
  noteError,
  noteExecuted,
  notePosition,
  noteUndeclared,
  startExecution
} from "../record/outcome.ts"
import type { ToolInfo } from "../tool/toolInfo.ts"
import { refuse } from "../refusal.ts"

/** A write of which neither a ledger nor a person knows. An agent that is a tool says so of its own. */
const isUnguarded = (info: ToolInfo, record: CallRecord): boolean =>
  !mayBeRepeated(info) && !info.passesKey && info.isAgent !== true && rootOf(record).admission.approved === undefined

/** An executable call. */
export interface Executable<Params, A, D, R> {
  readonly info: ToolInfo
  readonly success: Schema.Top
  /** Idempotency of the calls; `undefined` for calls that only read a task's state. */
  readonly idempotency: Idempotency | undefined | "never"
  readonly timeout: Duration.Duration | undefined
  /** Limit up to which progress extends the timeout; `undefined` if it does not. */
  readonly maxTimeout?: Duration.Duration | undefined
  /** Returns the Effect of the result, or something else that `lastOf` makes it of. */
  readonly execute: (params: Params) => unknown
  readonly lastOf: (executed: unknown) => Effect.Effect<A, D, R>
}

/** An attempt whose call is to be executed. */
export interface ExecutedAttempt extends Attempt {
  /** The idempotency of the call, if it has one. */
  readonly idempotency: Idempotency | undefined
  readonly params: unknown
  readonly key: string | undefined
}

const fates = { done: "yes", unknown: "unknown", undone: undefined } as const

/** The executor gave no answer within its timeout. */
class NoAnswer {
  /** The time that ran out. */
  readonly after: Duration.Duration
  constructor(after: Duration.Duration) {
    this.after = after
  }
}

/** Calls the executor. */
const called = <Params, A, D, R>(
  { execute, lastOf }: Executable<Params, A, D, R>,
  params: Params
): Effect.Effect<A, D, R> => {
  const executed = execute(params)
  return Effect.isEffect(executed) ? executed as Effect.Effect<A, D, R> : lastOf(executed)
}

/** The executor, or its interceptor. */
const intercepted = <Params, A, D, R>(
  executable: Executable<Params, A, D, R>,
  attempt: Attempt,
  params: Params
): Effect.Effect<A, D, R> => {
  const intercept = Context.get(attempt.context, ToolInterceptor)
  return intercept === undefined
    ? called(executable, params)
    : standingBefore(intercept, executable, attempt, params)
}

const standingBefore = <Params, A, D, R>(
  intercept: Interceptor,
  executable: Executable<Params, A, D, R>,
  attempt: Attempt,
  params: Params
): Effect.Effect<A, D, R> => {
  const { info, timeout } = executable
  const { call, number } = attempt
  const { effects, failure, name: tool, passesKey, success } = info
  const about = { tool, callId: call.id, attempt: number, effects, passesKey, timeout, params, failure, success }
  // Defects of the interceptor are not those of the tool.
  const named = Effect.catchCause(
    Effect.suspend(() => called(executable, params)),
    (cause) => Effect.failCause(namingDefects(call.record, number, cause))
  )
  return intercept(about, named) as Effect.Effect<A, D, R>
}

/** Progress of an execution whose executor is called. */
interface Started<A> {
  /** True if an attempt before has called it. */
  readonly isRepeated: boolean
  /** The entries of this execution. */
  readonly entries: ReturnType<typeof entriesOf>
  /** Its position among the compensable writes. */
  readonly position: number | undefined
  /** Outcome of its transaction, if it has one. */
  readonly fate: Fate
  /** The answer in the transaction. */
  readonly committed?: { readonly value: A }
  /** JSON of the answer, if the tool has compensable writes. */
  readonly encoded?: Schema.Json | undefined
  /** The declaration of the error that it failed with. */
  readonly declared?: Declared | undefined
}

/** One execution. Until the executor is called it has no effect. */
class Execution<Params, A, D, R> {
  private readonly executable: Executable<Params, A, D, R>
  private readonly attempt: ExecutedAttempt
  private readonly isCharged: boolean
  /** The transaction of the tool; `undefined` if it has none, or if the journal is in no database. */
  private readonly transaction: Transaction | undefined
  /** Its progress, once the executor is called. */
  private started: Started<A> | undefined = undefined

  constructor(executable: Executable<Params, A, D, R>, attempt: ExecutedAttempt, isCharged: boolean) {
    this.executable = executable
    this.attempt = attempt
    this.isCharged = isCharged
    this.transaction = executable.info.isTransaction ? attempt.run?.log?.transaction : undefined
  }

  /**
   * The check and the start are one step: another attempt, or call, may have started or stopped while this one waited.
   */
  begin(): Effect.Effect<A, unknown, R> {
    const { call, context, run } = this.attempt
    const { record } = call
    if (isStopped(record)) return repeatStop
    const detached = outerOf(record) === undefined ? undefined : refuseDetached(record)
    if (detached !== undefined) return detached
    if (record.outcome.executed && !mayRunAgain(call)) return refuse(call, run)
    if (record.marks.degraded !== undefined && record.outcome.running === 0) forgetDegraded(record)
    const isRepeated = record.outcome.executed
    forgetEnd(record)
    const isFirst = startExecution(record)
    const { info } = this.executable
    if (info.effects !== "read" || record.children.within !== undefined) {
      noteWriteStart(record, isFirst, () => Context.get(context, Clock.Clock).currentTimeMillisUnsafe())
    }
    const entries = record.admission.continuation === undefined
      ? [openEntry(this.attempt)]
      : entriesOf(this.attempt.run, this.attempt.call.id)
    const position = info.compensation === undefined ? undefined : notePosition(record, this.startWrite())
    this.started = { isRepeated, entries, position, fate: "undone" }
    if (info.effects === "write" || info.passesKey) noteStartedWrite(run, record.outcome)
    if (info.effects !== "read" && isUnguarded(info, record)) noteWritten(run)
    const executed = intercepted(this.executable, this.attempt, this.attempt.params as Params)
    return this.transaction === undefined ? executed : this.committed(this.transaction, executed)
  }

  private committed<E>(transaction: Transaction, executed: Effect.Effect<A, E, R>): Effect.Effect<A, unknown, R> {
    const { attempt, executable: { info, success } } = this
    return committed(transaction, attempt.run!, { attempt, info, success }, executed, {
      answer: (value) => this.know({ committed: { value } }),
      fate: (fate) => this.know({ fate })
    })
  }

  private know(more: Partial<Started<A>>): void {
    if (this.started !== undefined) this.started = { ...this.started, ...more }
  }

  /** A committed result is the answer, even if the time ran out meanwhile. */
  late(after: Duration.Duration): Effect.Effect<A, NoAnswer> {
    const { committed, fate } = this.started ?? {}
    return fate !== "done" || committed === undefined
      ? Effect.fail(new NoAnswer(after))
      : Effect.succeed(committed.value)
  }

  end(exit: Exit.Exit<unknown, unknown>): void {
    const { call: { record }, run } = this.attempt
    if (Exit.isSuccess(exit)) noteAnswer(record, exit)
    else forgetDegraded(record)
    const { started } = this
    if (started === undefined) {
      if (this.isCharged) run!.account.refund("toolCalls")
      return
    }
    if (started.position !== undefined) run!.writes.completed!.ended(started.position)
    // It resumes with the agent that is the tool.
    if (record.admission.stop !== undefined && waitsInAgent(record, this.attempt.number)) {
      return endExecution(record, record.outcome.known)
    }
    const known = Exit.isSuccess(exit)
      ? "yes"
      : afterExecution(record, exit, this.isKeyed, (error) => this.saysNotDone(error))
    endExecution(record, this.transaction === undefined ? known : fates[started.fate] ?? record.outcome.known)
    if (Exit.isFailure(exit) && !this.isExcluded(exit)) noteUndeclared(record)
    if (this.transaction !== undefined && this.isRolledBack && record.outcome.running === 0) {
      noteExecuted(record, started.isRepeated)
    }
    const outcome = Exit.isSuccess(exit) ? "success" : failureOutcome(exit.cause, record)
    for (const entry of started.entries) entry.outcome = outcome
    const { info } = this.executable
    if (info.compensation !== undefined || run?.audience?.details === true) {
      this.noteCompensable(exit, started.position)
    }
    if (run?.counts.admitted.change !== undefined) noteChange(run)
  }

  /** True if a failed execution had no effect: of a read, by a declaration, or because its call was stopped. */
  private isExcluded({ cause: { reasons } }: Exit.Failure<unknown, unknown>): boolean {
    const { executable: { info }, transaction } = this
    // The effects of an agent are those of its calls.
    if (info.effects === "read" || info.isAgent === true || transaction !== undefined) return true
    const failed = reasons.length === 1 ? reasons.find(Cause.isFailReason) : undefined
    return failed === undefined ? this.attempt.call.record.admission.stop !== undefined : this.saysNotDone(failed.error)
  }

  private get isKeyed(): boolean {
    return this.attempt.idempotency !== undefined
  }

  /** True if it ran in a transaction that is not committed: then it has not happened. */
  private get isRolledBack(): boolean {
    return this.transaction !== undefined && (this.started === undefined || this.started.fate === "undone")
  }

  /** Answer of a tool with compensable writes, stored as JSON. */
  keep(answer: A): Effect.Effect<A> {
    return Effect.map(encodedResult(this.executable.success, answer), (encoded) => {
      this.know({ encoded })
      return answer
    })
  }

  private startWrite(): number | undefined {
    const { attempt: { call, run }, executable: { info }, isKeyed } = this
    return run?.writes.completed?.start((position) =>
      noteCompensable({ call, encoded: undefined, info, isKeyed, live: undefined, position, run }, Exit.fail(undefined))
    )
  }

  private noteCompensable(exit: Exit.Exit<unknown, unknown>, position: number | undefined): void {
    const { attempt: { call, context, params, run }, executable: { info }, isKeyed, started } = this
    noteCompensable({ call, encoded: started?.encoded, info, isKeyed, live: { params, context }, position, run }, exit)
  }

  private saysNotDone(error: unknown): boolean {
    if (error instanceof NoAnswer) return false
    const { attempt: { call, context }, executable: { idempotency, info } } = this
    const rejected = typeof idempotency === "object" ? idempotency.rejected : undefined
    const declared = declaredBy(info.failure, error, Context.get(context, Locale), mayBeRepeated(info))
    this.know({ declared })
    return declared?.outcome === "not_done" || isTagged(error, rejected ?? []) ||
      (call.idempotency !== undefined && isTagged(error, call.idempotency.rejected))
  }

  stopped(cause: Cause.Cause<unknown>): Effect.Effect<never, AttemptError | PassThrough> {
    const { attempt } = this
    // `Effect.catch` makes defects of the errors in parallel to a defect.
    const isNamed = !Cause.hasDies(cause) || Context.get(attempt.context, ToolInterceptor) !== undefined
    const named = isNamed ? cause : namingDefects(attempt.call.record, attempt.number, cause)
    return Effect.catch(Effect.failCause(named), (error) => this.failed(error))
  }

  private failed(error: unknown): Effect.Effect<never, AttemptError | PassThrough> {
    const { attempt, executable: { info } } = this
    // It was refused.
    if (this.started === undefined && !(error instanceof NoAnswer)) {
      return Effect.fail(error as AttemptError | PassThrough)
    }
    if (isPassThrough(error)) {
      noteError(attempt.call.record, error)
      return Effect.fail(error)
    }
    const ofUnknown = ofUnknownOutcome(info, attempt.idempotency)
    return error instanceof NoAnswer
      ? timedOut(info, attempt, error.after, ofUnknown, this.isRolledBack)
      : executionFailed(attempt, error, this.started?.declared, error instanceof OutcomeUnknown ? {} : ofUnknown)
  }
}

/** Begins an execution: the effect runs it, once. */
export const execute = <Params, A, D, R>(
  executable: Executable<Params, A, D, R>,
  attempt: ExecutedAttempt,
  isCharged: boolean
): Effect.Effect<A, AttemptError | PassThrough, R> => {
  const { maxTimeout, timeout } = executable
  const { call, key: idempotencyKey, number } = attempt
  const execution = new Execution(executable, attempt, isCharged)
  const attempted = Effect.suspend(() => execution.begin())
  const timed = timeout === undefined
    ? attempted
    : maxTimeout === undefined
    ? Effect.timeoutOrElse(attempted, { duration: timeout, orElse: () => execution.late(timeout) })
    : withIdleTimeout(attempted, { idle: timeout, max: maxTimeout }, (after) => execution.late(after))
  const stored = executable.info.compensation === undefined
    ? timed
    : Effect.flatMap(timed, (answer) => execution.keep(answer))
  const ended = Effect.onExitPrimitive(stored, (exit) => {
    execution.end(exit)
    return undefined
  })
  const typed = Effect.catchCause(ended, (cause) => execution.stopped(cause))
  return number === call.attempt && idempotencyKey === call.idempotencyKey
    ? typed
    : provide(typed, ToolCall, { ...call, attempt: number, idempotencyKey })
}

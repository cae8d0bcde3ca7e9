/** One attempt of a tool call: read, admitted, charged, executed, timed. Everything that recovery repeats is this effect. */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { Locale } from "../../Catalogue.ts"
import { isTagged } from "../foundation/errorTags.ts"
import { CurrentRetryBudget } from "../../RetryBudget.ts"
import {
  type Declared,
  ExecutionError,
  IdempotencyConflict,
  InvalidArgs,
  LedgerUnavailable,
  OutcomeUnknown,
  Timeout
} from "../../ToolError.ts"
import { ToolInterceptor } from "../../ToolInterceptor.ts"
import { provide } from "../foundation/provideService.ts"
import { fromIssue } from "../foundation/schemaIssues.ts"
import { declaredBy } from "../projection/declaration.ts"
import { signal } from "../foundation/signal.ts"
import * as Telemetry from "../run/counters.ts"
import { after, before } from "../foundation/sequence.ts"
import { CurrentRun, type Run, use } from "../run/run.ts"
import * as Arguments from "./arguments.ts"
import { asJson } from "./argumentsAsJson.ts"
import {
  announceAttempt,
  announceEnd,
  type Attempt,
  attemptOutcome,
  failAttempt,
  type OfUnknown,
  openEntry,
  reopenEntries
} from "./attemptLog.ts"
import { type Call, mayRunAgain, ToolCall } from "./call.ts"
import { isPassThrough, isWrite, mayBeRepeated, type PassThrough } from "./execution.ts"
import { anew } from "./childCall.ts"
import { admit, isOpen, isStopped, stopAgain } from "./gate.ts"
import { notInLedger } from "./ledgerOnly.ts"
import type { Idempotency } from "../idempotency/declaration.ts"
import { afterExecution, begin, end } from "./happened.ts"
import { begunBefore, withIntent } from "./intent.ts"
import { LedgerVerdict, oncePerKey, type Refusals } from "./oncePerKey.ts"
import { type AttemptError, type ErrorFields, noteRead, type ToolInfo } from "./record.ts"
import { refuse, withdraw } from "./refusal.ts"
import { isExhaustedWithin, noteRepetition } from "./repetition.ts"

export interface AttemptOptions<Params, A, D, R> {
  readonly info: ToolInfo
  readonly parameters: Schema.Decoder<Params, R>
  readonly success: Schema.Top
  /** How calls are made idempotent; nothing for those that only ask for a task's state. */
  readonly idempotency: Idempotency | undefined | "never"
  readonly timeout: Duration.Duration | undefined
  readonly execute: (params: Params) => Effect.Effect<A, D, R>
}

/** The executor gave no answer within its timeout. */
const noAnswer = { _tag: "NoAnswer" } as const

/** What an unknown outcome says of the tool's key. */
const ofUnknownOutcome = ({ passesKey }: ToolInfo, idempotency: Idempotency | undefined): OfUnknown => ({
  ...(passesKey ? { underKey: true } : undefined),
  ...(idempotency?.key === undefined ? undefined : { repeatable: true })
})

/** The effect that is one attempt. Running it again is the next attempt of the same call. */
export const make = <Params, A, D, R>(
  options: AttemptOptions<Params, A, D, R>
): Effect.Effect<A, AttemptError | PassThrough, ToolCall | R> => {
  const { execute, info, timeout } = options
  const decode = Schema.decodeUnknownEffect(options.parameters)
  const onExcessProperty = info.onUnknownKeys === "refuse" ? "error" : "ignore"
  /** Looks for all that is wrong with arguments only where something is: reading up to the first issue takes half as long. */
  const decodeAll = ({ isLarge, object }: Arguments.RawArguments): ReturnType<typeof decode> => {
    // Options of any kind take the slower of effect's two ways through a struct.
    const decoded = onExcessProperty === "ignore" ? decode(object) : decode(object, { onExcessProperty })
    return Exit.isExit(decoded) && Exit.isSuccess(decoded)
      ? decoded
      : decode(object, { errors: isLarge ? "first" : "all", onExcessProperty, reportInput: true })
  }
  const { rejected = [] } = typeof options.idempotency === "object" ? options.idempotency : {}

  /** What runs: the executor, or what stands before it. */
  const intercepted = ({ call, context, number }: Attempt, params: Params): Effect.Effect<A, D, R> => {
    const intercept = Context.get(context, ToolInterceptor)
    if (intercept === undefined) return execute(params)
    const { effects, name: tool, passesKey } = info
    const about = { tool, callId: call.id, attempt: number, effects, passesKey, timeout, params }
    return intercept(about, Effect.suspend(() => execute(params))) as Effect.Effect<A, D, R>
  }

  const timed = <E>(execution: Effect.Effect<A, E, R>): Effect.Effect<A, E | typeof noAnswer, R> =>
    timeout === undefined
      ? execution
      : Effect.timeoutOrElse(execution, { duration: timeout, orElse: () => Effect.fail(noAnswer) })

  /** The executor gave no answer in time. */
  const timedOut = (attempt: Attempt, after: Duration.Duration, ofUnknown: OfUnknown) =>
    failAttempt(
      attempt,
      { error: "Timeout" },
      (fields) =>
        isWrite(info)
          ? new OutcomeUnknown({ ...fields, after, ...ofUnknown })
          : new Timeout({ ...fields, after, ...(mayBeRepeated(info) ? { repeatable: true } : undefined) }),
      { ...ofUnknown, after }
    )

  /** The executor's own error, with what may be said of it. */
  const executionFailed = (attempt: Attempt, reason: unknown, declared: Declared | undefined, ofUnknown: OfUnknown) => {
    const said = declared === undefined ? undefined : { declared }
    return failAttempt(
      attempt,
      { error: reason instanceof OutcomeUnknown ? "OutcomeUnknown" : "ExecutionError", reason },
      (fields) =>
        reason instanceof OutcomeUnknown
          ? new OutcomeUnknown({ ...fields, after: reason.after, reason })
          : new ExecutionError({ ...fields, reason, ...said }),
      { ...ofUnknown, ...said }
    )
  }

  /** Begins an execution: the effect runs it, once. Until the executor is called nothing of it has happened. */
  const execution = (
    attempt: Attempt,
    params: Params,
    idempotencyKey: string | undefined,
    isCharged = false
  ): Effect.Effect<A, AttemptError | PassThrough, R> => {
    const { call, context, number, run } = attempt
    const { record } = call
    const { continuation } = record
    const idempotency = options.idempotency === "never" ? undefined : call.idempotency ?? options.idempotency
    let hasBegun = false
    let entries: ReturnType<typeof reopenEntries>
    let declared: Declared | undefined
    const started = Effect.suspend((): Effect.Effect<A, unknown, R> => {
      // The check and the beginning are one step: another attempt, or call, may have begun or stopped while this one waited.
      if (isStopped(record)) return stopAgain(record)
      if (!mayRunAgain(call)) return refuse(call, run)
      record.answered = undefined
      record.lastError = undefined
      if (record.running === 0) record.degraded = undefined
      if (continuation === undefined) use(run, "toolCalls", 1)
      hasBegun = true
      begin(record, () => Context.get(context, Clock.Clock).currentTimeMillisUnsafe())
      entries = continuation === undefined ? [openEntry(attempt)] : reopenEntries(attempt)
      return intercepted(attempt, params)
    })
    const saysNotDone = (error: unknown): boolean => {
      if (error === noAnswer) return false
      declared = declaredBy(info.failure, error, Context.get(context, Locale), mayBeRepeated(info))
      return declared?.outcome === "not_done" || isTagged(error, rejected) ||
        (call.idempotency !== undefined && isTagged(error, call.idempotency.rejected))
    }
    const ended = after(timed(started), (exit) => {
      if (Exit.isSuccess(exit)) record.answered = exit
      else record.degraded = undefined
      // It goes on when the agent does that is the tool.
      if (!hasBegun) {
        if (isCharged) run?.account.refund("toolCalls")
        return Effect.void
      }
      if (record.stop?._tag === "Nested") {
        end(record, "no")
        return Effect.void
      }
      end(record, afterExecution(record, exit, idempotency !== undefined, saysNotDone))
      for (const entry of entries) entry.outcome = attemptOutcome(exit, record)
      return Effect.void
    })
    const typed = Effect.catch(ended, (error): Effect.Effect<never, AttemptError | PassThrough> => {
      // It was refused.
      if (!hasBegun && error !== noAnswer) return Effect.fail(error as AttemptError | PassThrough)
      if (isPassThrough(error)) return Effect.fail(record.lastError = error)
      const ofUnknown = ofUnknownOutcome(info, idempotency)
      return error === noAnswer
        ? timedOut(attempt, timeout!, ofUnknown)
        : executionFailed(attempt, error, declared, error instanceof OutcomeUnknown ? {} : ofUnknown)
    })
    return number === call.attempt && idempotencyKey === call.idempotencyKey
      ? typed
      : provide(typed, ToolCall, { ...call, attempt: number, idempotencyKey })
  }

  const verdicts = (attempt: Attempt): Refusals<AttemptError> => {
    const refused = (error: string, make: (fields: ErrorFields) => AttemptError) =>
      attempt.call.idempotency === undefined
        ? failAttempt(attempt, { error }, make)
        : Effect.catch(failAttempt(attempt, { error }, make), (error) => signal(new LedgerVerdict(error)))
    return {
      conflict: (entry) => refused("IdempotencyConflict", (fields) => new IdempotencyConflict({ ...fields, entry })),
      unavailable: (reason) => refused("LedgerUnavailable", (fields) => new LedgerUnavailable({ ...fields, reason })),
      unknown: (since) =>
        refused("OutcomeUnknown", (fields) => new OutcomeUnknown({ ...fields, after: Duration.millis(since) }))
    }
  }

  const idempotencyOf = (call: Call): Idempotency | undefined =>
    options.idempotency === "never" ? undefined : call.idempotency ?? options.idempotency

  /** Executes what was let on: charged, and under the call's key if it has one. */
  const charged = (
    attempt: Attempt,
    raw: Record<string, unknown>,
    params: Params
  ): Effect.Effect<A, AttemptError | PassThrough, R> => {
    const { call, run } = attempt
    // Also where the ledger answers: the words are the same.
    if (info.untrusted) noteRead(call.record, [info.name])
    const execute = (key: string | undefined): Effect.Effect<A, AttemptError | PassThrough, R> => {
      if (call.lookupOnly === true) return notInLedger
      if (run === undefined || call.record.continuation !== undefined) return execution(attempt, params, key)
      // What may not run is not charged: another attempt may have begun while this one was let on.
      if (isStopped(call.record)) return stopAgain(call.record)
      if (!mayRunAgain(call)) return refuse(call, run)
      return before(run.account.chargeNow("toolCalls"), () =>
        run.journal === undefined || key !== undefined
          ? execution(attempt, params, key, true)
          : withIntent(run.journal, run, { attempt, ...options }, () => execution(attempt, params, undefined, true)))
    }
    const idempotency = idempotencyOf(call)
    return idempotency === undefined ? execute(undefined) : oncePerKey(
      idempotency,
      { call, run, tool: info.name, params, raw, success: options.success },
      verdicts(attempt),
      execute
    )
  }

  /** Reads the arguments, and executes what is let on with them. */
  const begun = (attempt: Attempt): Effect.Effect<A, AttemptError | PassThrough, R> => {
    const { call, run } = attempt
    call.record.requested = call
    const earlier = run?.journal && begunBefore<A>(run.journal, run, { attempt, ...options })
    if (earlier !== undefined) return earlier as Effect.Effect<A, AttemptError | PassThrough, R>
    const invalid = (issues: InvalidArgs["issues"]) =>
      before(
        announceAttempt(attempt),
        () =>
          failAttempt(
            attempt,
            { error: "InvalidArgs" },
            (fields) =>
              new InvalidArgs({ ...fields, issues, ...(info.effects === "read" ? { isRead: true } : undefined) })
          )
      )
    const read = Arguments.readSized(call.arguments)
    if (Result.isFailure(read)) return invalid(read.failure)
    const raw = read.success.object
    return Effect.flatMapEager(
      Effect.catchEager(decodeAll(read.success), (error) => invalid(fromIssue(error.issue, { messages: true }))),
      (params) => {
        const isAdmitted = isOpen(info, call)
        const letOn = (given: Record<string, unknown>) =>
          before(announceAttempt(attempt), () => charged(attempt, given, params))
        if (isAdmitted && idempotencyOf(call) === undefined) return letOn(raw)
        return Effect.flatMapEager(
          Effect.catchEager(asJson(options.parameters, raw, params), invalid),
          (json): Effect.Effect<A, AttemptError | PassThrough, R> =>
            isAdmitted ? letOn(json) : Effect.flatMap(
              admit(info, call, json, params, options.success) as Effect.Effect<Option.Option<A>, never, R>,
              Option.match({
                onSome: (value) => {
                  call.record.answered = { value }
                  return Effect.succeed(value)
                },
                onNone: () => letOn(json)
              })
            )
        )
      }
    )
  }

  const run = (
    context: Context.Context<never>,
    call: Call,
    run: Run | undefined
  ): Effect.Effect<A, AttemptError | PassThrough, R> => {
    const attempt: Attempt = { call, run, number: ++call.record.attempts, context, told: "nothing" }
    return run?.audience === undefined ? begun(attempt) : after(begun(attempt), (exit) => announceEnd(attempt, exit))
  }

  return Effect.contextWith((ambient: Context.Context<ToolCall>) => {
    const context = ambient as Context.Context<never>
    const call = Context.get(ambient, ToolCall)
    const current = Context.get(context, CurrentRun)
    const record = call.record
    record.tool = info
    // A fixer reads the description, and whoever is told what is wrong with the arguments reads the schema.
    if (info.foreignDescription) noteRead(record, [info.name])
    if (record.children !== undefined) anew(record.children, call.attempt, record.attempts + 1)
    if (record.closedBy !== undefined || call.closed === true || !mayRunAgain(call)) return refuse(call, current)
    const isRetry = record.attempts > 0 && !record.fixed
    if (isRetry && isExhaustedWithin(record.lastError)) return refuse(call, current)
    if (record.attempts > 0) noteRepetition(record, record.attempts + 1)
    if (record.fixed) record.fixed = false
    const isPaid = record.retryPaid
    if (isPaid) record.retryPaid = false
    if (!isRetry) {
      const deposit = record.attempts > 0 ? undefined : Context.get(context, CurrentRetryBudget)?.deposit
      return before(deposit ?? Effect.void, () => run(context, call, current))
    }
    const retried = Effect.suspend(() =>
      before(
        current === undefined ? Effect.void : current.account.chargeNow("retriesPerTool", info.name),
        () =>
          Effect.flatMap(Telemetry.countToolRetry({ tool: info.name }), () => {
            use(current, "retries", 1)
            return run(context, call, current)
          })
      )
    )
    return isPaid
      ? retried
      : Effect.flatMap(withdraw, (isPaid) => isPaid ? retried : refuse(call, current, "retry_budget"))
  })
}

/** Retries of calls that may safely run again. */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Pull from "effect/Pull"
import * as Schedule from "effect/Schedule"
import { lastWait, recordWait } from "../call/replay/replayedFailures.ts"
import { refuse, withdraw } from "../call/refusal.ts"
import { subjectOf, toolName } from "../call/record/record.ts"
import { noteProgress, payRetry, progressOf, type RetryStep } from "../call/record/recovering.ts"
import { isDecided, isRethrown, isRetriedWithin } from "../call/repetition.ts"
import {
  aBoolean,
  aDuration,
  aFunction,
  anything,
  aSchedule,
  checkOptions,
  type Kind
} from "../foundation/options/optionCheck.ts"
import { backOff, checkTimes } from "../foundation/backOff.ts"
import { keepingTags } from "../foundation/builtInTags.ts"
import { noteRetried } from "../foundation/effect/retriedFailures.ts"
import { isTransient as isDeclaredTransient } from "../projection/declaration.ts"
import { CurrentRun, emit, type Run } from "../run/run.ts"
import { type Call, mayRunAgain, ToolCall } from "../call/call.ts"
import { ExecutionError, OutcomeUnknown, Timeout } from "../../ToolError.ts"
import type { KnownCall, Misplaced, OnCalls, Tagged } from "../foundation/errorTags.ts"

/**
 * Number and schedule of retries. An error that an inner layer has retried for the same reason is not retried: not by
 * another `Recovery.retry` or `Effect.retry`, not on another level, and not above a `TransportRetry` in the executor.
 *
 * Throws `ConfigurationError` for `times` that are no count.
 *
 * @category options
 * @since 0.2.0
 */
export interface RetryOptions<E = unknown> {
  /**
   * Extra attempts, like in `Effect.retry`, counted for the call over all its passes. `0` retries no error, and
   * counts as a layer that has retried.
   */
  readonly times: number
  /**
   * The waits, which may depend on the error and are never shorter than the `retryAfter` that the tool's `failure`
   * schema declares. `Schedule.forever` has no wait. Default: 200 milliseconds, twice as long each time, at most 30
   * seconds, with jitter.
   */
  readonly schedule?: Schedule.Schedule<unknown, unknown> | undefined
  /**
   * The longest declared `retryAfter` that is waited for. If it is longer, or longer than the run's remaining time,
   * the error passes at once. Default: 60 seconds.
   */
  readonly maxRetryAfter?: Duration.Input | undefined
  /**
   * True for an error that is retried. Default: timeouts, failures of the executor that its tool does not declare as
   * permanent, and unknown outcomes of writes that have an idempotency key.
   */
  readonly while?: ((error: E) => boolean) | undefined
  /**
   * Retries an error that an inner layer has retried, except after a policy's `"rethrow"`: the attempts of both add
   * up. Default: `false`.
   */
  readonly evenIfRetried?: boolean | undefined
}

/** @internal Whether an outcome is unknown of an attempt that may be run again under its idempotency key. */
export const mayRepeat = (error: unknown): error is OutcomeUnknown =>
  error instanceof OutcomeUnknown && error.underKey === true

/** @internal Whether trying again may help: a timeout, or a failure of the executor that is not declared as permanent. */
export const isTransient = (error: unknown): boolean =>
  error instanceof Timeout ||
  ((error instanceof ExecutionError || mayRepeat(error)) &&
    (error.declared === undefined || error.declared.code === "execution_error" || isDeclaredTransient(error.declared)))

const retryAfter = (error: unknown): Duration.Duration =>
  Duration.millis(
    error instanceof ExecutionError || error instanceof OutcomeUnknown ? error.declared?.retryAfter ?? 0 : 0
  )

/**
 * Retries a call if that is lawful. Excluded: errors that an inner layer has retried or another level has fixed;
 * executed writes, unless their tool declares the failure as not done and transient; tools with undeclared `effects`,
 * unless this is the tool's own recovery; invalid arguments; retries beyond the run's `retriesPerTool` or the process's
 * `RetryBudget`. An excluded error passes at once. The error type does not change; the last error lists all attempts.
 *
 * **Example** (Two more attempts)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Recovery, Tool, ToolCall } from "@recourse/core"
 *
 * let runs = 0
 * const Flaky = Tool.make("flaky", {
 *   success: Schema.Int,
 *   effects: "read",
 *   execute: () => Effect.suspend(() => ++runs < 3 ? Effect.fail("down" as const) : Effect.succeed(runs))
 * }).pipe(Tool.onError(Recovery.retry({ times: 2 })))
 *
 * await Effect.runPromise(
 *   Flaky.call.pipe(Effect.provideService(ToolCall.ToolCall, ToolCall.make({ id: "c1", arguments: {} })))
 * ) // => 3
 * ```
 *
 * @category combinators
 * @since 0.2.0
 */
export const retry = <Known, Taken = Known>(options: OnCalls<Known> & RetryOptions<Taken>) => {
  const applies = (options as RetryOptions | undefined)?.while ?? isTransient
  const rule = ruleOf("Recovery.retry", options as RetryOptions, applies as Rule["applies"])
  return <A, E, R>(
    call:
      | (Effect.Effect<A, E, R> & KnownCall<A, Known, R> & KnownCall<A, NoInfer<Taken>, R>)
      | Misplaced<Known>
  ): Effect.Effect<A, E, R | ToolCall> => retryBy([rule])(call as Effect.Effect<A, E, R>)
}

/** @internal Rule of a retry. */
export interface Rule {
  readonly applies: (error: unknown) => boolean
  readonly times: number
  readonly schedule: Schedule.Schedule<unknown, unknown>
  readonly maxRetryAfter: Duration.Duration
  readonly evenIfRetried: boolean
}

const retryKinds: Readonly<Record<keyof RetryOptions, Kind>> = {
  // `checkTimes` says more.
  times: anything,
  schedule: aSchedule,
  maxRetryAfter: aDuration,
  while: aFunction,
  evenIfRetried: aBoolean
}

const otherRetryNames = {
  attempts: "times",
  retries: "times",
  maxRetries: "times",
  maxAttempts: "times",
  delay: "schedule",
  backoff: "schedule",
  until: "while",
  shouldRetry: "while"
}

/** @internal Reads options, once. */
export const ruleOf = (subject: string, options: RetryOptions<never>, applies: Rule["applies"]): Rule => {
  checkOptions(subject, options, { kinds: retryKinds, otherNames: otherRetryNames })
  checkTimes(subject, options.times)
  return {
    applies,
    times: options.times,
    schedule: options.schedule ?? backOff("200 millis"),
    maxRetryAfter: Duration.fromInputUnsafe(options.maxRetryAfter ?? "60 seconds"),
    evenIfRetried: options.evenIfRetried === true
  }
}

/** @internal Tries a call again by the first rule that applies to its error. */
export const retryBy =
  (rules: ReadonlyArray<Rule>) => <A, E, R>(call: Effect.Effect<A, E, R>): Effect.Effect<A, E, R | ToolCall> => {
    // A count for each rule here, in each call.
    const counted = rules.map((rule) => ({ ...rule }))
    const recovered: Effect.Effect<A, E, R | ToolCall> = Effect.catchCause(call, (cause) => {
      const error = cause.reasons.find(Cause.isFailReason)?.error
      const rule = error === undefined ? undefined : counted.find(({ applies }) => applies(error))
      return rule === undefined
        ? Effect.failCause(cause)
        : Effect.contextWith((context: Context.Context<R | ToolCall>) =>
          Effect.flatMapEager(mayRetry(rule, error, context), (again) => again ? recovered : Effect.failCause(cause))
        )
    })
    return keepingTags(recovered, call)
  }

/** Waits for another attempt. Answers whether there is to be one. */
const mayRetry = (rule: Rule, error: unknown, context: Context.Context<ToolCall>): Effect.Effect<boolean> => {
  const call = Context.get(context, ToolCall)
  const run = Context.get(context as Context.Context<never>, CurrentRun)
  const { record } = call
  const progress = progressOf(record, rule)
  if (progress.times >= rule.times) noteRetried(error)
  const isTaken = rule.evenIfRetried
    ? isRethrown(record, error)
    : isDecided(record, error) || isRetriedWithin(record, progress.from, error)
  if (
    progress.times >= rule.times || !mayRunAgain(call) || isTaken ||
    Duration.isGreaterThan(retryAfter(error), rule.maxRetryAfter) ||
    run?.account.fits("retriesPerTool", toolName(record)) === false
  ) return Effect.succeed(false)
  return Effect.flatMapEager(
    progress.step === undefined ? Schedule.toStep(rule.schedule) : Effect.succeed(progress.step),
    (step) => {
      noteProgress(record, rule, { step })
      return Effect.map(waited(rule, step, call, run, error, context), (again) => {
        if (again) noteProgress(record, rule, { from: record.attempts.count })
        return again
      })
    }
  )
}

/** A shorter wait is over before a process that was killed in it is back: the journal of the run need not have it. */
const shortest = Duration.seconds(1)

/**
 * Waits by the schedule, or for the rest of a wait that an earlier execution of the run started. Returns whether
 * another attempt follows.
 */
const waited = (
  rule: Rule,
  step: RetryStep,
  current: Call,
  run: Run | undefined,
  error: unknown,
  context: Context.Context<never>
): Effect.Effect<boolean> => {
  const { record } = current
  const clock = Context.get(context, Clock.Clock)
  const earlier = lastWait(run, current)
  const countRetry = (): number => {
    const times = progressOf(record, rule).times + 1
    noteProgress(record, rule, { times })
    payRetry(record)
    return times
  }
  const onSuccess = ([, scheduled]: [unknown, Duration.Duration]): Effect.Effect<boolean> => {
    const now = clock.currentTimeMillisUnsafe()
    const delay = earlier === undefined
      ? Duration.max(scheduled, retryAfter(error))
      : Duration.millis(Math.max(0, earlier.until - now))
    if (run?.account.hasTime(Duration.toMillis(delay)) === false) return Effect.succeed(false)
    const waiting = Duration.isZero(delay) ? Effect.succeed(true) : Effect.as(Effect.sleep(delay), true)
    if (earlier !== undefined) {
      countRetry()
      return waiting
    }
    return Effect.flatMapEager(withdraw(context), (isPaid) => {
      if (!isPaid) return Effect.as(Effect.ignore(refuse(current, run, "retry_budget")), false)
      const retry = countRetry()
      const emitted = emit(run, () => ({
        _tag: "ToolRetry",
        ...subjectOf(record),
        retry,
        delay: Duration.toMillis(delay),
        error: (error as Tagged<string>)._tag
      }))
      const isShort = Duration.isLessThan(delay, shortest)
      return Effect.flatMapEager(
        emitted,
        () =>
          run?.log === undefined || isShort
            ? waiting
            : Effect.andThen(recordWait(run, run.log, current, now, now + Duration.toMillis(delay)), waiting)
      ) as Effect.Effect<boolean>
    })
  }
  const next = step(earlier?.at ?? clock.currentTimeMillisUnsafe(), error)
  return Exit.isExit(next) && Exit.isSuccess(next) ?
    onSuccess(next.value as Parameters<typeof onSuccess>[0]) :
    Pull.matchEffect(next, {
      onDone: () => {
        noteRetried(error)
        return Effect.succeed(false)
      },
      onFailure: Effect.failCause,
      onSuccess
    })
}

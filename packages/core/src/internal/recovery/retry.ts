/** Retry, where running again is safe. */
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Pull from "effect/Pull"
import * as Schedule from "effect/Schedule"
import { refuse, withdraw } from "../call/refusal.ts"
import { subjectOf, toolName } from "../call/record.ts"
import { CurrentRun, emit, type Run } from "../run/run.ts"
import { type Call, mayRunAgain, ToolCall } from "../call/call.ts"
import { ExecutionError, OutcomeUnknown, Timeout } from "../../ToolError.ts"
import type { Tagged } from "../foundation/errorTags.ts"

/**
 * How often and when to try again. `times` are extra attempts, as in `Effect.retry`; without `schedule` there is no
 * delay. `schedule` may look at the error. Which errors: timeouts and failures of the executor, unknown outcomes of writes that
 * have an idempotency key, or what `while` says.
 *
 * The wait is the schedule's, and never shorter than the `retryAfter` that a tool's `failure` schema declares of the error. A
 * `retryAfter` above `maxRetryAfter` (default: 60 seconds) is not waited for: the error goes on at once.
 */
export interface RetryOptions<E = unknown> {
  readonly times: number
  readonly schedule?: Schedule.Schedule<unknown, unknown> | undefined
  readonly maxRetryAfter?: Duration.Input | undefined
  readonly while?: ((error: E) => boolean) | undefined
}

const isTransient = (error: unknown): boolean =>
  error instanceof Timeout || error instanceof ExecutionError || mayRepeat(error)

/** @internal Whether an outcome is unknown of an attempt that may be run again under its idempotency key. */
export const mayRepeat = (error: unknown): error is OutcomeUnknown =>
  error instanceof OutcomeUnknown && error.underKey === true

const retryAfter = (error: unknown): Duration.Duration =>
  Duration.millis(
    error instanceof ExecutionError || error instanceof OutcomeUnknown ? error.declared?.retryAfter ?? 0 : 0
  )

/**
 * Tries a call again, where that is lawful: not for writes that were executed, not for tools with undeclared `effects`
 * unless this is the tool's own recovery, not for arguments that do not fit, not beyond the run's `retriesPerTool`, and
 * not beyond the process's `RetryBudget`.
 * Where it is not, the error goes on at once. The error type stays as it is; the last error lists all attempts.
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
 */
export const retry: {
  (options: RetryOptions<never> & { readonly while?: undefined }): <A, E, R>(
    call: Effect.Effect<A, E, R>
  ) => Effect.Effect<A, E, R | ToolCall>
  <E>(options: RetryOptions<NoInfer<E>>): <A, R>(call: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R | ToolCall>
} = <E>(options: RetryOptions<E>) => <A, R>(call: Effect.Effect<A, E, R>): Effect.Effect<A, E, R | ToolCall> => {
  const applies = options.while ?? isTransient
  const longest = Duration.fromInputUnsafe(options.maxRetryAfter ?? "60 seconds")
  const attempt = (retries: number, begun: Step | undefined): Effect.Effect<A, E, R | ToolCall> =>
    Effect.catchCause(call, (cause) => {
      const fail = cause.reasons.find(Cause.isFailReason)
      if (fail === undefined || retries >= options.times || !applies(fail.error)) return Effect.failCause(cause)
      return Effect.flatMap(ToolCall, (current) =>
        Effect.flatMap(CurrentRun, (run) => {
          const tool = toolName(current.record)
          return !mayRunAgain(current) || Duration.isGreaterThan(retryAfter(fail.error), longest) ||
              run?.account.fits("retriesPerTool", tool) === false
            ? Effect.failCause(cause)
            : Effect.flatMap(
              begun === undefined ? Schedule.toStep(options.schedule ?? Schedule.forever) : Effect.succeed(begun),
              (step) =>
                Effect.flatMap(waited(step, current, run, retries + 1, fail.error), (again) =>
                  again ? attempt(retries + 1, step) : Effect.failCause(cause))
            )
        }))
    })
  return attempt(0, undefined)
}

type Step = Effect.Success<ReturnType<typeof Schedule.toStep<unknown, unknown, never, never>>>

/** Waits as the schedule says. Answers whether there is to be another attempt. */
const waited = (
  step: Step,
  current: Call,
  run: Run | undefined,
  retry: number,
  error: unknown
): Effect.Effect<boolean> =>
  Effect.clockWith((clock) =>
    Pull.matchEffect(step(clock.currentTimeMillisUnsafe(), error), {
      onDone: () => Effect.succeed(false),
      onFailure: Effect.failCause,
      onSuccess: ([, scheduled]) =>
        Effect.flatMap(withdraw, (isPaid) => {
          const delay = Duration.max(scheduled, retryAfter(error))
          if (!isPaid) return Effect.as(Effect.ignore(refuse(current, run, "retry_budget")), false)
          current.record.retryPaid = true
          return emit(run, () => ({
            _tag: "ToolRetry",
            ...subjectOf(current.record),
            retry,
            delay: Duration.toMillis(delay),
            error: (error as Tagged<string>)._tag
          })).pipe(
            Effect.andThen(Duration.isZero(delay) ? Effect.void : Effect.sleep(delay)),
            Effect.as(true)
          )
        })
    })
  )

/** Lawful repetition. */
import { Duration, Effect, Pull, Schedule } from "effect"
import { refuse, withdraw } from "../internal/attempt.ts"
import { CurrentRun, emit } from "../internal/run.ts"
import { mayRunAgain, ToolCall } from "../ToolCall.ts"
import { isTagged, type Tagged } from "./tags.ts"

/**
 * How often and when to try again. `times` are extra attempts, as in `Effect.retry`; without `schedule` there is no
 * delay. `schedule` may look at the error. Which errors: timeouts and failures of the executor, or what `while` says.
 */
export interface RetryOptions<E = unknown> {
  readonly times: number
  readonly schedule?: Schedule.Schedule<unknown, unknown> | undefined
  readonly while?: ((error: E) => boolean) | undefined
}

const isTransient = (error: unknown): boolean => isTagged(error, ["Timeout", "ExecutionError"])

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
 * import { Recovery, Tool, ToolCall } from "recourse"
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
export const retry =
  <E>(options: RetryOptions<NoInfer<E>>) => <A, R>(call: Effect.Effect<A, E, R>): Effect.Effect<A, E, R | ToolCall> =>
    Effect.flatMap(ToolCall, (current) =>
      Effect.flatMap(CurrentRun, (run) => {
        const applies = options.while ?? isTransient
        const tool = () => current.record.tool?.name ?? ""
        const step = Schedule.toStep(options.schedule ?? Schedule.forever)
        return Effect.flatMap(step, (next) => {
          const attempt = (retries: number): Effect.Effect<A, E, R> =>
            Effect.catchIf(
              call,
              (error) =>
                retries < options.times && applies(error) && mayRunAgain(current) &&
                (run === undefined || run.ledger.fits("retriesPerTool", tool())),
              (error) =>
                Effect.clockWith((clock) =>
                  Pull.matchEffect(next(clock.currentTimeMillisUnsafe(), error), {
                    onDone: () => Effect.fail(error),
                    onFailure: Effect.failCause,
                    onSuccess: ([, delay]) =>
                      Effect.flatMap(withdraw, (isPaid) => {
                        if (!isPaid) return Effect.catch(refuse(current, run, "retry_budget"), () => Effect.fail(error))
                        current.record.retryPaid = true
                        return emit(run, () => ({
                          _tag: "ToolRetry",
                          callId: current.id,
                          tool: tool(),
                          retry: retries + 1,
                          delay: Duration.toMillis(delay),
                          error: (error as Tagged<string>)._tag
                        })).pipe(
                          Effect.andThen(Duration.isZero(delay) ? Effect.void : Effect.sleep(delay)),
                          Effect.andThen(attempt(retries + 1))
                        )
                      })
                  })
                )
            )
          return attempt(0)
        })
      }))

/** Decisions about a failed model call: Retry, RespondWith, Rethrow. */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Pull from "effect/Pull"
import * as Schedule from "effect/Schedule"
import type * as AiError from "effect/ai/AiError"
import { backOff, checkTimes } from "../foundation/backOff.ts"
import { noteRetried } from "../foundation/effect/retriedFailures.ts"
import { resultOrEffect } from "../foundation/options/hookResult.ts"
import { aBoolean, aDuration, anything, aSchedule, checkOptions, type Kind } from "../foundation/options/optionCheck.ts"

/**
 * The error passes unchanged. The default.
 *
 * @category models
 * @since 0.2.0
 */
export interface Rethrow {
  readonly _tag: "Rethrow"
}

/**
 * An answer takes the model's place and ends the run; the transcript marks it as synthetic.
 *
 * @category models
 * @since 0.2.0
 */
export interface RespondWith<out O> {
  readonly _tag: "RespondWith"
  readonly output: O
}

/**
 * The model is called again.
 *
 * @category models
 * @since 0.2.0
 */
export interface Retry {
  readonly _tag: "Retry"
  readonly times: number
  readonly schedule: Schedule.Schedule<unknown, AiError.AiError>
  readonly maxRetryAfter: Duration.Duration
  /** True if a partly emitted answer is restarted. */
  readonly restart: boolean
  /** True if an error is retried that a layer below has retried. */
  readonly evenIfRetried: boolean
}

/**
 * Decision about a failed model call.
 *
 * @category models
 * @since 0.2.0
 */
export type Decision<O> = Rethrow | RespondWith<O> | Retry

/** @internal Whether the program answers in the model's place. */
export const isSubstitute = <A extends object>(answer: A | RespondWith<unknown>): answer is RespondWith<unknown> =>
  "_tag" in answer && answer._tag === "RespondWith"

/**
 * The error passes unchanged.
 *
 * @category constructors
 * @since 0.2.0
 */
export const rethrow: Rethrow = { _tag: "Rethrow" }

/**
 * An answer takes the model's place and ends the run.
 *
 * **Example** (Zero when the model is down)
 *
 * ```ts
 * import { ModelError } from "@recourse/core"
 *
 * ModelError.respondWith(0).output // => 0
 * ```
 *
 * @category constructors
 * @since 0.2.0
 */
export const respondWith = <const O>(output: O): RespondWith<O> => ({ _tag: "RespondWith", output })

const retryKinds: Readonly<Record<Exclude<keyof Retry, "_tag">, Kind>> = {
  // `checkTimes` says more.
  times: anything,
  schedule: aSchedule,
  maxRetryAfter: aDuration,
  restart: aBoolean,
  evenIfRetried: aBoolean
}

/**
 * The model is called again: up to `times` more in this turn, like `Effect.retry`; after that the error passes.
 *
 * The wait is the schedule's (default: 500 milliseconds, twice as long each time, at most 30 seconds, with jitter), and
 * never shorter than the error's own `retryAfter`. A `retryAfter` above `maxRetryAfter` (default: 60 seconds), or
 * longer than the run's remaining time, is not waited for: the error passes at once. A streamed answer is retried only
 * before its first content part, unless `restart` is set: then listeners discard the emitted parts (`AnswerRestarted`),
 * and the answer restarts. Default: false. Set it if all displays of the stream support that event.
 *
 * An error that a layer below has retried is not retried: by the `TransportRetry` that the request was sent with, or by
 * `ModelError.layer` around the model. `evenIfRetried: true` (default: `false`) retries it all the same. Each call of the model
 * then has all the attempts of the transport: 3 times 4 requests by default and with `times: 3`.
 *
 * The handler decides at each failure; the k-th retry waits the schedule's k-th
 * delay, whose time begins with the first failure. Throws `ConfigurationError` for `times` that are no count.
 *
 * **Example** (Three more calls)
 *
 * ```ts
 * import { Schedule } from "effect"
 * import { ModelError } from "@recourse/core"
 *
 * ModelError.retry({ times: 3, schedule: Schedule.exponential("500 millis") }).times // => 3
 * ```
 *
 * @category constructors
 * @since 0.2.0
 */
export const retry = (options: {
  readonly times: number
  readonly schedule?: Schedule.Schedule<unknown, AiError.AiError> | undefined
  readonly maxRetryAfter?: Duration.Input | undefined
  readonly restart?: boolean | undefined
  readonly evenIfRetried?: boolean | undefined
}): Retry => {
  checkOptions("ModelError.retry", options, { kinds: retryKinds, otherNames: { attempts: "times", retries: "times" } })
  checkTimes("ModelError.retry", options.times)
  return {
    _tag: "Retry",
    times: options.times,
    schedule: options.schedule ?? backOff("500 millis"),
    maxRetryAfter: Duration.fromInputUnsafe(options.maxRetryAfter ?? "60 seconds"),
    restart: options.restart === true,
    evenIfRetried: options.evenIfRetried === true
  }
}

/**
 * State for a handler besides the error: the number of failures of this turn, 1 at the first.
 *
 * @category models
 * @since 0.2.0
 */
export interface Consultation {
  readonly attempt: number
}

/**
 * Decides about a failed model call.
 *
 * @category models
 * @since 0.2.0
 */
export type Handler<O, E, R> = (
  error: AiError.AiError,
  consultation: Consultation
) => Decision<O> | Effect.Effect<Decision<O>, E, R>

/**
 * A wait before a model call is made again.
 *
 * @category models
 * @since 0.2.0
 */
export interface RetryNotice {
  readonly error: AiError.AiError
  /** 1 for the first retry of the turn. */
  readonly retry: number
  readonly delay: Duration.Duration
  /** When it ends, in milliseconds since the epoch. */
  readonly until: number
}

/** A failure of a model call, and when it was. */
export interface ModelFailure {
  readonly error: AiError.AiError
  /** Milliseconds since the epoch. */
  readonly at: number
  /** True if a layer below has retried the error: the transport, or a layer of the model. */
  readonly isRetried?: boolean
}

/** True if an error was retried for its reason: by a layer below, or after an earlier failure of the turn. */
const wasRetried = (failures: ReadonlyArray<ModelFailure>): boolean => {
  const { error, isRetried } = failures.at(-1)!
  return isRetried === true || failures.slice(0, -1).some((before) => before.error.reason._tag === error.reason._tag)
}

/** The delay after the last of some failures, each of which is a step of the schedule at its time. */
const delayOf = (
  decision: Retry,
  failures: ReadonlyArray<ModelFailure>
): Effect.Effect<Duration.Duration | undefined> =>
  Effect.flatMap(Schedule.toStep(decision.schedule), (step) =>
    Pull.catchDone(
      Effect.map(
        Effect.reduce(
          failures,
          () => Duration.zero,
          (_, { at, error }) => Effect.map(step(at, error), ([, delay]) => delay)
        ),
        (delay): Duration.Duration | undefined => delay
      ),
      () => Effect.undefined
    ))

const decisions: ReadonlySet<unknown> = new Set(["Retry", "Rethrow", "RespondWith"])

const aDecision: Kind = {
  is: (value) => typeof value === "object" && value !== null && "_tag" in value && decisions.has(value._tag),
  called: "a decision, such as ModelError.rethrow or ModelError.retry({ times: 2 })"
}

/**
 * @internal Executes a handler's decision about the newest of a turn's failures: waits and returns `"again"`, answers,
 * or fails with the error.
 */
export const consult = <O, E, R>(
  handler: Handler<O, E, R>,
  failures: ReadonlyArray<ModelFailure>,
  options: {
    /** True if no listener has received a part of the answer. */
    readonly mayRetry: boolean
    /** True if listeners that have can discard it. */
    readonly mayRestart?: boolean
    /** End of the wait that an earlier execution of the run started. */
    readonly until?: number | undefined
    /** True if a wait of so many milliseconds is not too long. */
    readonly hasTime: (millis: number) => boolean
    readonly onRetry: (notice: RetryNotice) => Effect.Effect<void>
  }
): Effect.Effect<"again" | RespondWith<O>, AiError.AiError | E, R> => {
  const { error, isRetried } = failures.at(-1)!
  const asked = resultOrEffect(
    { subject: "onModelError", name: "the function", kind: aDecision },
    () => handler(error, { attempt: failures.length })
  )
  const decided = Effect.flatMap(asked, (decision): Effect.Effect<"again" | RespondWith<O>, AiError.AiError> => {
    if (decision._tag === "RespondWith") return Effect.succeed(decision)
    if (decision._tag === "Rethrow" || failures.length > decision.times) return Effect.fail(error)
    if (isRetried === true && !decision.evenIfRetried && options.until === undefined) return Effect.fail(error)
    if (!options.mayRetry && !(decision.restart && options.mayRestart === true)) return Effect.fail(error)
    const retryAfter = error.retryAfter ?? Duration.zero
    if (Duration.isGreaterThan(retryAfter, decision.maxRetryAfter)) return Effect.fail(error)
    return Effect.flatMap(delayOf(decision, failures), (scheduled) => {
      if (scheduled === undefined) return Effect.fail(error)
      return Effect.flatMap(Clock.currentTimeMillis, (now) => {
        const { until } = options
        const delay = until === undefined
          ? Duration.max(scheduled, retryAfter)
          : Duration.millis(Math.max(0, until - now))
        if (!options.hasTime(Duration.toMillis(delay))) return Effect.fail(error)
        const notification = until === undefined
          ? options.onRetry({ error, retry: failures.length, delay, until: now + Duration.toMillis(delay) })
          : Effect.void
        return notification.pipe(
          Effect.andThen(Duration.isZero(delay) ? Effect.void : Effect.sleep(delay)),
          Effect.as("again" as const)
        )
      })
    })
  })
  return wasRetried(failures) ? Effect.tapError(decided, () => Effect.sync(() => noteRetried(error))) : decided
}

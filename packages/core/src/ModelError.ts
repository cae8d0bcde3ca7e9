/**
 * Decisions about failed model calls: rethrow, respond with an answer of your own, or retry.
 *
 * They stand above the transport and below tool resolution: repeating a model call never repeats a tool. They are asked
 * about each failure of a turn, and never about budgets, interruption or defects.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Pull from "effect/Pull"
import * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import type * as AiError from "effect/ai/AiError"
import * as LanguageModel from "effect/ai/LanguageModel"
import type * as Response from "effect/ai/Response"
import { isContent } from "./internal/model/parts.ts"
import * as Remade from "./internal/model/wrapModel.ts"
import * as Unresolved from "./internal/model/request.ts"

/** The error goes on as it is. The default. */
export interface Rethrow {
  readonly _tag: "Rethrow"
}

/** An answer takes the model's place and ends the run; the transcript marks it as synthetic. */
export interface RespondWith<out O> {
  readonly _tag: "RespondWith"
  readonly output: O
}

/** The model is called again. */
export interface Retry {
  readonly _tag: "Retry"
  readonly times: number
  readonly schedule: Schedule.Schedule<unknown, AiError.AiError>
  readonly maxRetryAfter: Duration.Duration
}

/** What to do about a failed model call. */
export type Decision<O> = Rethrow | RespondWith<O> | Retry

/** The error goes on as it is. */
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
 */
export const respondWith = <const O>(output: O): RespondWith<O> => ({ _tag: "RespondWith", output })

/**
 * The model is called again: up to `times` more in this turn, as in `Effect.retry`; after that the error goes on.
 *
 * The wait is the schedule's, and never shorter than the error's own `retryAfter`. A `retryAfter` above `maxRetryAfter`
 * (default: 60 seconds) is not waited for: the error goes on at once. A streamed answer is retried only before its first
 * content part. As the decision is asked for at each failure, the schedule's k-th delay is used for the k-th retry.
 *
 * **Example** (Three more calls)
 *
 * ```ts
 * import { Schedule } from "effect"
 * import { ModelError } from "@recourse/core"
 *
 * ModelError.retry({ times: 3, schedule: Schedule.exponential("500 millis") }).times // => 3
 * ```
 */
export const retry = (options: {
  readonly times: number
  readonly schedule?: Schedule.Schedule<unknown, AiError.AiError> | undefined
  readonly maxRetryAfter?: Duration.Input | undefined
}): Retry => ({
  _tag: "Retry",
  times: options.times,
  schedule: options.schedule ?? Schedule.forever,
  maxRetryAfter: Duration.fromInputUnsafe(options.maxRetryAfter ?? "60 seconds")
})

/** What a handler knows besides the error: the number of failures of this turn, 1 at the first. */
export interface Consultation {
  readonly attempt: number
}

/** Decides about a failed model call. */
export type Handler<O, E, R> = (
  error: AiError.AiError,
  consultation: Consultation
) => Decision<O> | Effect.Effect<Decision<O>, E, R>

/** A wait before a model call is made again. */
export interface RetryNotice {
  readonly error: AiError.AiError
  /** 1 for the first retry of the turn. */
  readonly retry: number
  readonly delay: Duration.Duration
}

const delayOf = (
  decision: Retry,
  errors: ReadonlyArray<AiError.AiError>
): Effect.Effect<Duration.Duration | undefined> =>
  Effect.clockWith((clock) =>
    Effect.flatMap(Schedule.toStep(decision.schedule), (step) => {
      const now = clock.currentTimeMillisUnsafe()
      return Pull.catchDone(
        Effect.map(
          Effect.reduce(errors, () => Duration.zero, (_, error) => Effect.map(step(now, error), ([, delay]) => delay)),
          (delay): Duration.Duration | undefined => delay
        ),
        () => Effect.undefined
      )
    })
  )

/**
 * @internal What a handler decides about the newest of a turn's failures: waits and says `"again"`, answers, or fails
 * with the error.
 */
export const consult = <O, E, R>(
  handler: Handler<O, E, R>,
  errors: ReadonlyArray<AiError.AiError>,
  options: {
    readonly mayRetry: boolean
    readonly onRetry: (notice: RetryNotice) => Effect.Effect<void>
  }
): Effect.Effect<"again" | RespondWith<O>, AiError.AiError | E, R> => {
  const error = errors.at(-1)!
  const asked = Effect.suspend(() => {
    const decision = handler(error, { attempt: errors.length })
    return Effect.isEffect(decision) ? decision : Effect.succeed(decision)
  })
  return Effect.flatMap(asked, (decision): Effect.Effect<"again" | RespondWith<O>, AiError.AiError> => {
    if (decision._tag === "RespondWith") return Effect.succeed(decision)
    if (decision._tag === "Rethrow" || !options.mayRetry || errors.length > decision.times) return Effect.fail(error)
    const retryAfter = error.retryAfter ?? Duration.zero
    if (Duration.isGreaterThan(retryAfter, decision.maxRetryAfter)) return Effect.fail(error)
    return Effect.flatMap(delayOf(decision, errors), (scheduled) => {
      if (scheduled === undefined) return Effect.fail(error)
      const delay = Duration.max(scheduled, retryAfter)
      return options.onRetry({ error, retry: errors.length, delay }).pipe(
        Effect.andThen(Duration.isZero(delay) ? Effect.void : Effect.sleep(delay)),
        Effect.as("again" as const)
      )
    })
  })
}

/**
 * Decisions for programs that use `LanguageModel` without an agent: a layer over any language model.
 *
 * Model calls are retried below tool resolution, so that `generateText({ toolkit })` runs no tool twice. Streams are
 * retried only before their first content part. `generateObject` is repeated as a whole, and only if it has no toolkit
 * whose tools it resolves; `RespondWith` is the text of an answer and does not apply to it.
 *
 * **Example** (Three more calls for whatever uses the model)
 *
 * ```ts
 * import { Effect, Layer } from "effect"
 * import { LanguageModel } from "effect/ai"
 * import { ModelError } from "@recourse/core"
 * import { ScriptedModel } from "@recourse/testing"
 *
 * const model = ModelError.layer((error) => error.isRetryable ? ModelError.retry({ times: 3 }) : ModelError.rethrow).pipe(
 *   Layer.provide(ScriptedModel.layer([ScriptedModel.failure("InternalProviderError"), ScriptedModel.text("hello")]))
 * )
 *
 * await Effect.runPromise(
 *   LanguageModel.generateText({ prompt: "hi" }).pipe(Effect.map((response) => response.text), Effect.provide(model))
 * ) // => "hello"
 * ```
 */
export const layer = <E = never, R = never>(
  handler: Handler<string, AiError.AiError | E, R>
): Layer.Layer<LanguageModel.LanguageModel, never, LanguageModel.LanguageModel | R> =>
  Layer.effect(
    LanguageModel.LanguageModel,
    Effect.gen(function*() {
      const inner = yield* LanguageModel.LanguageModel
      const context = yield* Effect.context<R>()
      const decide: Handler<string, AiError.AiError, never> = (error, consultation) => {
        const decision = handler(error, consultation)
        return Effect.isEffect(decision)
          ? Effect.provideContext(decision as Effect.Effect<Decision<string>, AiError.AiError, R>, context)
          : decision
      }
      const quiet = () => Effect.void

      const recovered = <A>(
        effect: Effect.Effect<A, AiError.AiError>,
        substitute: (text: string, error: AiError.AiError) => Effect.Effect<A, AiError.AiError>,
        errors: ReadonlyArray<AiError.AiError> = []
      ): Effect.Effect<A, AiError.AiError> =>
        Effect.catch(effect, (error) => {
          const failures = [...errors, error]
          return Effect.flatMap(
            consult(decide, failures, { mayRetry: true, onRetry: quiet }),
            (decision) =>
              decision === "again" ? recovered(effect, substitute, failures) : substitute(decision.output, error)
          )
        })

      const streamed = (
        request: Unresolved.Request,
        errors: ReadonlyArray<AiError.AiError>
      ): Stream.Stream<Response.StreamPartEncoded, AiError.AiError> =>
        Stream.suspend(() => {
          let content = false
          return Unresolved.streamEncoded(inner, request).pipe(
            Stream.map((part) => {
              content ||= isContent(part)
              return part
            }),
            Stream.catch((error) => {
              const failures = [...errors, error]
              return Stream.unwrap(
                Effect.map(
                  consult(decide, failures, { mayRetry: !content, onRetry: quiet }),
                  (decision) =>
                    decision === "again"
                      ? streamed(request, failures)
                      : Stream.fromIterable(textStreamParts(decision.output))
                )
              )
            })
          )
        })

      return yield* Remade.make(inner, {
        generate: (request) =>
          recovered(
            Unresolved.generateEncoded(inner, request),
            (text) => Effect.succeed(textParts(text))
          ),
        stream: (request) => streamed(request, []),
        object: (call) => recovered(call(inner), (_, error) => Effect.fail(error))
      })
    })
  )

const finish: Response.FinishPartEncoded = {
  type: "finish",
  reason: "stop",
  usage: { inputTokens: {}, outputTokens: {} }
}

const textParts = (text: string): Array<Response.PartEncoded> => [{ type: "text", text }, finish]

const textStreamParts = (text: string): Array<Response.StreamPartEncoded> => [
  { type: "text-start", id: "0" },
  { type: "text-delta", id: "0", delta: text },
  { type: "text-end", id: "0" },
  finish
]

/**
 * Decisions about failed model calls: rethrow, respond with an answer of your own, or retry.
 *
 * The handler is above the transport and below tool resolution: a repeated model call never repeats a tool. It decides
 * about each failure of a turn, and never about budgets, interruption or defects.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import type * as AiError from "effect/ai/AiError"
import * as LanguageModel from "effect/ai/LanguageModel"
import type * as Response from "effect/ai/Response"
import { consult, type Decision, type Handler, type ModelFailure } from "./internal/model/modelDecision.ts"
import {
  CurrentExchange,
  type Exchange,
  hasRetried,
  makeExchange
} from "./internal/foundation/effect/retriedFailures.ts"
import { isContent } from "./internal/model/responseParts.ts"
import * as ModelRequest from "./internal/model/sendRequest.ts"
import { wrapModel } from "./internal/model/wrapModel.ts"

export { isContextLength } from "./internal/model/contextLength.ts"
export {
  type Consultation,
  type Decision,
  type Handler,
  type RespondWith,
  respondWith,
  type Rethrow,
  rethrow,
  type Retry,
  retry,
  type RetryNotice
} from "./internal/model/modelDecision.ts"

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
 *
 * @category layers
 * @since 0.2.0
 */
export const layer = <R = never>(
  handler: Handler<string, AiError.AiError, R>
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
      /** The exchange of one attempt, with the deadlines of the run around it. */
      const exchanged = Effect.map(
        CurrentExchange,
        (around) => makeExchange((millis) => around?.hasTime(millis) !== false)
      )
      const failureOf = (exchange: Exchange, error: AiError.AiError): Effect.Effect<ModelFailure> =>
        Effect.clockWith((clock) =>
          Effect.succeed({ error, at: clock.currentTimeMillisUnsafe(), isRetried: hasRetried(exchange, error) })
        )

      const recovered = <A>(
        effect: Effect.Effect<A, AiError.AiError>,
        substitute: (text: string, error: AiError.AiError) => Effect.Effect<A, AiError.AiError>,
        errors: ReadonlyArray<ModelFailure> = []
      ): Effect.Effect<A, AiError.AiError> =>
        Effect.flatMap(exchanged, (exchange) =>
          Effect.catch(Effect.provideService(effect, CurrentExchange, exchange), (error) =>
            Effect.flatMap(failureOf(exchange, error), (failure) => {
              const failures = [...errors, failure]
              return Effect.flatMap(
                consult(decide, failures, { mayRetry: true, hasTime: exchange.hasTime, onRetry: quiet }),
                (decision) =>
                  decision === "again" ? recovered(effect, substitute, failures) : substitute(decision.output, error)
              )
            })))

      const streamed = (
        request: ModelRequest.Request,
        errors: ReadonlyArray<ModelFailure>
      ): Stream.Stream<Response.StreamPartEncoded, AiError.AiError> =>
        Stream.unwrap(Effect.map(exchanged, (exchange) => {
          let content = false
          return ModelRequest.streamEncoded(inner, request).pipe(
            Stream.provideService(CurrentExchange, exchange),
            Stream.map((part) => {
              content ||= isContent(part)
              return part
            }),
            Stream.catch((error) =>
              Stream.unwrap(Effect.flatMap(failureOf(exchange, error), (failure) => {
                const failures = [...errors, failure]
                return Effect.map(
                  consult(decide, failures, { mayRetry: !content, hasTime: exchange.hasTime, onRetry: quiet }),
                  (decision) =>
                    decision === "again"
                      ? streamed(request, failures)
                      : Stream.fromIterable(textStreamParts(decision.output))
                )
              }))
            )
          )
        }))

      return yield* wrapModel(inner, {
        generate: (request) =>
          recovered(
            ModelRequest.generateEncoded(inner, request),
            (text) =>
              Effect.succeed(textParts(text))
          ),
        stream: (request) =>
          streamed(request, []),
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

/**
 * Language models made of their provider's hooks.
 *
 * `LanguageModel.make` of effect decodes every part of every answer with a schema, looks through the whole prompt for
 * approvals, and opens a span: right for a model that anybody may use in any way. An agent needs none of it when the hooks
 * are known to answer well-formed parts. A model that is made here is an ordinary `LanguageModel`, and remembers its hooks,
 * so that agents can call them directly.
 */
import * as Effect from "effect/Effect"
import type * as Stream from "effect/Stream"
import type * as AiError from "effect/ai/AiError"
import type * as IdGenerator from "effect/ai/IdGenerator"
import * as LanguageModel from "effect/ai/LanguageModel"
import type * as Response from "effect/ai/Response"

/** How a provider answers; the same hooks that `LanguageModel.make` takes. */
export interface Hooks {
  readonly generateText: (
    options: LanguageModel.ProviderOptions
  ) => Effect.Effect<Array<Response.PartEncoded>, AiError.AiError, IdGenerator.IdGenerator>
  readonly streamText: (
    options: LanguageModel.ProviderOptions
  ) => Stream.Stream<Response.StreamPartEncoded, AiError.AiError, IdGenerator.IdGenerator>
  readonly codecTransformer?: LanguageModel.CodecTransformer | undefined
}

const hooks = Symbol.for("@recourse/core/ModelProvider/hooks")

/**
 * Makes a language model whose hooks answer parts that fit effect's `Response` schemas.
 *
 * **Example** (A model that always says hello)
 *
 * ```ts
 * import { Effect, Stream } from "effect"
 * import { LanguageModel, type Response } from "effect/ai"
 * import { Agent, ModelProvider } from "@recourse/core"
 *
 * const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } }
 * const hello = ModelProvider.make({
 *   generateText: () => Effect.succeed([{ type: "text", text: "hello" }, { type: "finish", reason: "stop", usage }]),
 *   streamText: () => Stream.die("not in this example")
 * })
 *
 * await Effect.runPromise(
 *   Agent.make("greeter", {}).run("hi").pipe(Effect.provideServiceEffect(LanguageModel.LanguageModel, hello))
 * ) // => "hello"
 * ```
 */
export const make = (provider: Hooks): Effect.Effect<LanguageModel.LanguageModel> =>
  // Not enumerable, so that a decorator that spreads the model is not bypassed.
  Effect.map(LanguageModel.make(provider), (model) => Object.defineProperty(model, hooks, { value: provider }))

/** @internal The hooks of a model that was made here. */
export const hooksOf = (model: LanguageModel.LanguageModel): Hooks | undefined =>
  (model as { readonly [hooks]?: Hooks })[hooks]

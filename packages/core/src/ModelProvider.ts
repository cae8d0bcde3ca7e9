/**
 * Language models made of their provider's hooks.
 *
 * `LanguageModel.make` of effect decodes every part of every answer with a schema, searches the whole prompt for
 * approvals, and opens a span: right for a model with arbitrary users. An agent needs none of it if the hooks answer
 * well-formed parts. A model made here is an ordinary `LanguageModel` that also exposes its hooks, so that agents can
 * call them directly.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Stream from "effect/Stream"
import type * as AiError from "effect/ai/AiError"
import type * as IdGenerator from "effect/ai/IdGenerator"
import * as LanguageModel from "effect/ai/LanguageModel"
import type * as Model from "effect/ai/Model"
import type * as Response from "effect/ai/Response"

/**
 * The provider and the name of a model.
 *
 * @category models
 * @since 0.2.0
 */
export interface ModelIdentity {
  readonly provider: string
  readonly name: string
}

/**
 * Hooks of a provider; the same that `LanguageModel.make` takes.
 *
 * @category models
 * @since 0.2.0
 */
export interface Hooks {
  readonly generateText: (
    options: LanguageModel.ProviderOptions
  ) => Effect.Effect<Array<Response.PartEncoded>, AiError.AiError, IdGenerator.IdGenerator>
  readonly streamText: (
    options: LanguageModel.ProviderOptions
  ) => Stream.Stream<Response.StreamPartEncoded, AiError.AiError, IdGenerator.IdGenerator>
  readonly codecTransformer?: LanguageModel.CodecTransformer | undefined
  /**
   * Set if one request may have a JSON format and tools. Default: absent, because servers that force the format call no
   * tools, or refuse. An agent with tools then requests a format only to correct an answer.
   */
  readonly structuredOutput?: "with-tools" | undefined
  /** The model that is asked, for spans, metrics and prices. Default: as `Model.ModelName` of `effect/ai` says, if it is provided. */
  readonly model?: ModelIdentity | undefined
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
 *
 * @category constructors
 * @since 0.2.0
 */
export const make = (provider: Hooks): Effect.Effect<LanguageModel.LanguageModel> =>
  // Not enumerable, so that a decorator that spreads the model is not bypassed.
  Effect.map(LanguageModel.make(provider), (model) => Object.defineProperty(model, hooks, { value: provider }))

/** @internal The hooks of a model that was made here. */
export const hooksOf = (model: LanguageModel.LanguageModel): Hooks | undefined =>
  (model as { readonly [hooks]?: Hooks })[hooks]

const identity = Symbol.for("@recourse/core/ModelProvider/identity")

/** @internal The provider and the name of a model, if its provider has said them. */
export const identityOf = (model: LanguageModel.LanguageModel): ModelIdentity | undefined =>
  hooksOf(model)?.model ?? (model as { readonly [identity]?: ModelIdentity })[identity]

/** @internal The identity of the model that a context asks, if it is known. */
export const identityIn = (context: Context.Context<never>): ModelIdentity | undefined => {
  const model = Context.getOrUndefined(context, LanguageModel.LanguageModel)
  return model && identityOf(model)
}

/** The key of `effect/ai/Model`, which an agent does not load for it. */
const ModelName = Context.Service<Model.ModelName, string>("effect/ai/Model/ModelName")

/** @internal The name of the model that a context asks, if it is known: the model itself knows it best. */
export const nameIn = (context: Context.Context<never>): string | undefined =>
  identityIn(context)?.name ?? Context.getOrUndefined(context, ModelName)

const transformer = Symbol.for("@recourse/core/ModelProvider/transformer")

/** @internal A model whose answers are those of another one. */
export const withTransformerOf = (
  model: LanguageModel.LanguageModel,
  inner: LanguageModel.LanguageModel
): LanguageModel.LanguageModel =>
  Object.defineProperties(model, {
    [transformer]: { value: transformerOf(inner) },
    [identity]: { value: identityOf(inner) }
  })

/**
 * @internal Returns the schema transformer of a model's provider, if known: the model's answers fit the transformed
 * schemas.
 */
export const transformerOf = (model: LanguageModel.LanguageModel): LanguageModel.CodecTransformer | undefined =>
  hooksOf(model)?.codecTransformer ??
    (model as { readonly [transformer]?: LanguageModel.CodecTransformer })[transformer]

/**
 * Wraps a language model: a function around each request, below tool resolution. Response parts do not change.
 */
import type * as Stream from "effect/Stream"
import * as Effect from "effect/Effect"
import type * as AiError from "effect/ai/AiError"
import type * as LanguageModel from "effect/ai/LanguageModel"
import type * as Response from "effect/ai/Response"
import * as Toolkit from "effect/ai/Toolkit"
import * as ModelProvider from "../../ModelProvider.ts"
import type * as ModelRequest from "./sendRequest.ts"

/** Functions around the calls. */
export interface Wrapper {
  readonly generate: (request: ModelRequest.Request) => Effect.Effect<Array<Response.PartEncoded>, AiError.AiError>
  readonly stream: (request: ModelRequest.Request) => Stream.Stream<Response.StreamPartEncoded, AiError.AiError>
  /** Only for calls that resolve no tools themselves: those may be repeated as a whole. */
  readonly object: <A>(
    call: (model: LanguageModel.LanguageModel) => Effect.Effect<A, AiError.AiError>
  ) => Effect.Effect<A, AiError.AiError>
}

/** A request for a text answer: objects have requests of their own. */
const requestOf = ({ prompt, toolChoice, tools }: LanguageModel.ProviderOptions): ModelRequest.Request => ({
  prompt,
  toolkit: Toolkit.make(...tools),
  toolChoice
})

type ObjectOptions = LanguageModel.GenerateObjectOptions<{}, never>

/** Makes the model. `unguarded` answers objects whose call resolves tools. */
export const wrapModel = (
  unguarded: LanguageModel.LanguageModel,
  around: Wrapper
): Effect.Effect<LanguageModel.LanguageModel> =>
  Effect.map(
    ModelProvider.make({
      codecTransformer: ModelProvider.transformerOf(unguarded),
      generateText: (options) => around.generate(requestOf(options)),
      streamText: (options) => around.stream(requestOf(options))
    }),
    (model) =>
      ModelProvider.withTransformerOf({
        ...model,
        generateObject: ((options: ObjectOptions) =>
          options.toolkit !== undefined && options.disableToolCallResolution !== true
            ? unguarded.generateObject(options)
            : around.object((model) => model.generateObject(options))) as LanguageModel.LanguageModel["generateObject"]
      }, unguarded)
  )

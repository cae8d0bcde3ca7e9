/**
 * A model that answers with the given parts: for cases beyond a script of turns, such as calls that a provider
 * executed.
 */
import { Effect, Layer, Stream } from "effect"
import { type AiError, LanguageModel, type Prompt, type Response } from "effect/ai"
import { ModelProvider } from "@recourse/core"

export type Parts = ReadonlyArray<Response.PartEncoded>

const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } }

/** The end of an answer. */
export const finish = (reason: Response.FinishReason): Response.PartEncoded => ({ type: "finish", reason, usage })

/** A search that the provider ran within its own answer. */
export const search = (id: string, result: string, name = "web_search"): Parts => [
  { type: "tool-call", id, name, params: { q: "q" }, providerExecuted: true },
  { type: "tool-result", id, name, result, isFailure: false, providerExecuted: true, preliminary: false }
]

/** The model of a function from a request to parts. */
export const partsModel = (
  answer: (prompt: Prompt.Prompt) => Parts
): Layer.Layer<LanguageModel.LanguageModel> =>
  Layer.effect(
    LanguageModel.LanguageModel,
    ModelProvider.make({
      generateText: ({ prompt }): Effect.Effect<Array<Response.PartEncoded>, AiError.AiError> =>
        Effect.sync(() => [...answer(prompt)]),
      streamText: ({ prompt }) => Stream.fromIterable(answer(prompt) as ReadonlyArray<Response.StreamPartEncoded>)
    })
  )

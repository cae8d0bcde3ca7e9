/** Errors of the AI SDK about a request: settings, models and arguments that a provider package refuses. */
import {
  InvalidArgumentError,
  InvalidPromptError,
  LoadAPIKeyError,
  LoadSettingError,
  NoContentGeneratedError,
  NoSuchModelError,
  NoSuchProviderReferenceError,
  TooManyEmbeddingValuesForCallError,
  UnsupportedFunctionalityError
} from "@ai-sdk/provider"
import * as AiError from "effect/ai/AiError"

/** Returns the reason of an error that needs no answer of a server. */
export const fromRequestError = (error: unknown): AiError.AiErrorReason | undefined => {
  if (LoadAPIKeyError.isInstance(error)) {
    return new AiError.AuthenticationError({ kind: "MissingKey", description: error.message })
  }
  if (LoadSettingError.isInstance(error)) {
    return new AiError.InvalidRequestError({ description: error.message })
  }
  if (NoSuchModelError.isInstance(error)) {
    return new AiError.InvalidRequestError({
      parameter: "model",
      constraint: "must name a model of the provider",
      description: `There is no ${error.modelType} "${error.modelId}"`
    })
  }
  if (UnsupportedFunctionalityError.isInstance(error)) {
    return new AiError.InvalidRequestError({
      description: `The provider package does not support: ${error.functionality}`
    })
  }
  if (InvalidPromptError.isInstance(error)) {
    return new AiError.InvalidRequestError({ parameter: "prompt", constraint: "was refused by the provider package" })
  }
  if (InvalidArgumentError.isInstance(error)) {
    return new AiError.InvalidRequestError({
      parameter: error.argument,
      constraint: "was refused by the provider package"
    })
  }
  if (TooManyEmbeddingValuesForCallError.isInstance(error)) {
    return new AiError.InvalidRequestError({
      parameter: "values",
      constraint: `must hold at most ${error.maxEmbeddingsPerCall} values`
    })
  }
  if (NoSuchProviderReferenceError.isInstance(error)) {
    return new AiError.InvalidRequestError({
      parameter: "file",
      constraint: `has no reference for the provider "${error.provider}"`
    })
  }
  if (NoContentGeneratedError.isInstance(error)) {
    return new AiError.InvalidOutputError({ description: "The model generated no content" })
  }
  return undefined
}

/** The model and the options of a request for the run-time check. */
import { ConfigurationError } from "@recourse/core/ConfigurationError"
import * as Check from "@recourse/core/OptionCheck"
import type { LanguageModelV4 } from "@ai-sdk/provider"

/** Numbers on the wire are JSON, whose form of `NaN` and `Infinity` is `null`. */
const aFiniteNumber: Check.Kind = { is: Number.isFinite, called: "a finite number" }

const requestKinds: Readonly<Record<string, Check.Kind>> = {
  maxOutputTokens: Check.aPositiveCount,
  temperature: aFiniteNumber,
  stopSequences: Check.listOf(Check.aString),
  topP: Check.aShare,
  topK: Check.aCount,
  presencePenalty: aFiniteNumber,
  frequencyPenalty: aFiniteNumber,
  seed: { is: Number.isSafeInteger, called: "an integer" },
  reasoning: Check.aString,
  headers: Check.anObject,
  providerOptions: Check.anObject,
  idleTimeout: Check.aTimeLimit,
  contentTimeout: Check.aTimeLimit
}

const modelKinds = { ...requestKinds, codecTransformer: Check.aFunction }

const ofProvider = "the options of the provider: createAnthropic({ ... })"

const otherNames = {
  maxTokens: "maxOutputTokens",
  max_tokens: "maxOutputTokens",
  top_p: "topP",
  stop: "stopSequences",
  maxRetries: "onModelError of Agent.make",
  apiKey: ofProvider,
  baseURL: ofProvider,
  baseUrl: ofProvider
}

const problemOf = (model: unknown): string | undefined => {
  if (typeof model === "string") return "its model is a string. Make it with a provider: anthropic(\"claude-…\")"
  if (typeof model === "function") {
    return "its model is a function. Call the provider with a name: anthropic(\"claude-…\")"
  }
  const { doGenerate, provider } = (model ?? {}) as Partial<LanguageModelV4>
  return typeof doGenerate === "function" && typeof provider === "string"
    ? undefined
    : "its first argument has to be a model of an AI SDK provider: anthropic(\"claude-…\")"
}

/** Throws `ConfigurationError` for a model or options that the compiler refuses, and for numbers that no server takes. */
export const checkModel = (model: unknown, options: unknown): void => {
  const problem = problemOf(model)
  if (problem !== undefined) throw new ConfigurationError({ subject: "AiSdk", problem })
  Check.checkOptions("AiSdk", options, { kinds: modelKinds, otherNames })
}

/** Throws `ConfigurationError` for such options of one request. */
export const checkRequestOptions = (options: object): void =>
  Check.checkOptions("AiSdk.withOptions", options, { kinds: requestKinds, otherNames })

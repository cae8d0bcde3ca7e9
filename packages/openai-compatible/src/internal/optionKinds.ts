/** The options of a client for the run-time check. */
import * as Check from "@recourse/core/OptionCheck"
import * as Redacted from "effect/Redacted"
import type { Settings } from "../Settings.ts"
import type { TargetOptions } from "./connection/target.ts"

type Name = keyof TargetOptions | keyof Settings | "maxBodySize" | "retry" | "checkModel"

const aKey: Check.Kind = {
  is: Redacted.isRedacted,
  called: "a Redacted text",
  about: (value) => typeof value === "string" ? "is a plain text. Wrap it: Redacted.make(key)" : undefined
}

const aRetry: Check.Kind = { is: (value) => value === false || Check.anObject.is(value), called: "an object, or false" }

const kinds: Readonly<Record<Name, Check.Kind>> = {
  model: Check.aString,
  preset: Check.aString,
  baseUrl: Check.aString,
  apiKey: aKey,
  headers: Check.anObject,
  quirks: Check.anObject,
  temperature: Check.aNumber,
  topP: Check.aNumber,
  maxTokens: Check.aPositiveCount,
  frequencyPenalty: Check.aNumber,
  presencePenalty: Check.aNumber,
  seed: Check.aNumber,
  stop: Check.listOf(Check.aString),
  parallelToolCalls: Check.aBoolean,
  reasoningEffort: Check.aString,
  timeout: Check.aTimeLimit,
  idleTimeout: Check.aTimeLimit,
  contentTimeout: Check.aTimeLimit,
  body: Check.anObject,
  maxBodySize: Check.aLimit,
  retry: aRetry,
  checkModel: Check.aBoolean
}

const retryKinds = {
  attempts: Check.aLimit,
  schedule: Check.anything,
  maxRetryAfter: Check.aDuration,
  shouldRetry: Check.aFunction
}

const otherNames = {
  baseURL: "baseUrl",
  base_url: "baseUrl",
  modelName: "model",
  api_key: "apiKey",
  max_tokens: "maxTokens",
  maxOutputTokens: "maxTokens",
  top_p: "topP",
  maxRetries: "retry: { attempts: 3 }",
  defaultHeaders: "headers",
  extraBody: "body",
  extra_body: "body"
}

/** Throws `ConfigurationError` for options that the compiler refuses. */
export const checkClientOptions = (options: Readonly<Partial<Record<Name, unknown>>>): void => {
  const subject = "OpenAiCompatible"
  Check.checkOptions(subject, options, { kinds, otherNames })
  if (options.retry) Check.checkOptions(subject, options.retry, { kinds: retryKinds, otherNames: {} }, "retry.")
}

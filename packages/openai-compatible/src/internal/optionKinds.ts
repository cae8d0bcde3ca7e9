/** The options of a client for the run-time check. */
import * as Check from "@recourse/core/OptionCheck"
import * as Redacted from "effect/Redacted"
import type { Override, Settings } from "../Settings.ts"
import type { TargetOptions } from "./connection/target.ts"

type Name = keyof TargetOptions | keyof Settings | "maxBodySize" | "retry" | "checkModel"

const aKey: Check.Kind = {
  is: Redacted.isRedacted,
  called: "a Redacted text",
  about: (value) => typeof value === "string" ? "is a plain text. Wrap it: Redacted.make(key)" : undefined
}

const aRetry: Check.Kind = { is: (value) => value === false || Check.anObject.is(value), called: "an object, or false" }

/** JSON has no other number: `NaN` and `Infinity` are `null` on the wire. */
const aFiniteNumber: Check.Kind = { is: Number.isFinite, called: "a finite number" }

const anInteger: Check.Kind = { is: Number.isSafeInteger, called: "an integer" }

const overrideKinds: Readonly<Record<keyof Override, Check.Kind>> = {
  model: Check.aString,
  temperature: aFiniteNumber,
  topP: Check.aShare,
  maxTokens: Check.aPositiveCount,
  frequencyPenalty: aFiniteNumber,
  presencePenalty: aFiniteNumber,
  seed: anInteger,
  stop: Check.listOf(Check.aString),
  parallelToolCalls: Check.aBoolean,
  reasoningEffort: Check.aString,
  timeout: Check.aTimeLimit,
  idleTimeout: Check.aTimeLimit,
  contentTimeout: Check.aTimeLimit,
  body: Check.anObject
}

const kinds: Readonly<Record<Name, Check.Kind>> = {
  ...overrideKinds,
  preset: Check.aString,
  baseUrl: Check.aString,
  apiKey: aKey,
  headers: Check.anObject,
  quirks: Check.anObject,
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

/** Throws `ConfigurationError` for an override that the compiler refuses, and for numbers that no server takes. */
export const checkOverride = (override: Override): void =>
  Check.checkOptions("OpenAiCompatible.withConfigOverride", override, { kinds: overrideKinds, otherNames })

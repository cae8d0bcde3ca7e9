/** Errors of the AI SDK as `AiError`s: by class and code, never by prose. */
import { APICallError, TypeValidationError } from "@ai-sdk/provider"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as AiError from "effect/ai/AiError"
import * as Tool from "effect/ai/Tool"
import * as Headers from "effect/http/Headers"
import type * as IdleTimeout from "@recourse/core/IdleTimeout"
import * as ProviderResponse from "@recourse/core/ProviderResponse"
import * as Redaction from "@recourse/core/Redaction"
import { isAbort, isUnreadable, networkCode } from "./causes.ts"
import { codesOf, isFields } from "./errorCodes.ts"
import { fromAnswer, metadata, network, offProtocol, type Surroundings } from "./failedAnswer.ts"
import { fromRequestError } from "./requestErrors.ts"

export type Method = "generateText" | "streamText"

export const make = (method: Method, reason: AiError.AiErrorReason): AiError.AiError =>
  AiError.make({ module: "AiSdk", method, reason })

/** The answer stopped before the provider said that it is complete. */
export const cut = (method: Method): AiError.AiError =>
  make(
    method,
    network({ url: undefined, description: "The answer ended before the provider marked it as complete" })
  )

/** Silence of the server as a broken connection. */
export const orSilent = <A, R>(
  method: Method,
  self: Effect.Effect<A, AiError.AiError | IdleTimeout.IdleTimeoutError, R>
): Effect.Effect<A, AiError.AiError, R> =>
  Effect.catchTag(self, "IdleTimeoutError", (silence) => Effect.fail(silent(method, silence)))

export const silent = (method: Method, silence: IdleTimeout.IdleTimeoutError): AiError.AiError =>
  make(method, network({ url: undefined, description: silence.message }))

/** The server's answer contains no part of an answer. */
export const blank = (method: Method): AiError.AiError =>
  make(method, new AiError.InvalidResponseError({ description: offProtocol }))

/** Converts any exception or stream error of a provider package to an `AiError`. */
export const fromUnknown = (
  method: Method,
  error: unknown,
  isInPlaceOfAnswer = false
): Effect.Effect<AiError.AiError> =>
  AiError.isAiError(error)
    ? Effect.succeed(error)
    : Effect.map(
      Effect.all([Clock.currentTimeMillis, Redaction.Redaction]),
      ([now, redactor]) => make(method, readable(error, { now, scrub: redactor.text, isInPlaceOfAnswer }))
    )

/** Calls a provider package; interruption aborts the signal. */
export const attempt = <A>(
  method: Method,
  run: (signal: AbortSignal) => PromiseLike<A>
): Effect.Effect<A, AiError.AiError> =>
  Effect.catch(
    Effect.tryPromise({ try: run, catch: (error) => ({ error }) }),
    ({ error }) => Effect.flatMap(fromUnknown(method, error), Effect.fail)
  )

/** Anything can be thrown: fields that throw when they are read, circles, numbers that JSON has no words for. */
const readable = (error: unknown, surroundings: Surroundings): AiError.AiErrorReason => {
  try {
    return reasonOf(error, surroundings)
  } catch {
    return new AiError.UnknownError({ description: "The provider package failed with a value that cannot be read" })
  }
}

// The messages of AI SDK errors may quote the server's answer or the prompt, so none of them is passed on, except that
// of `LoadAPIKeyError`: it is made before any request and names the option or variable that is missing.
const reasonOf = (error: unknown, surroundings: Surroundings): AiError.AiErrorReason => {
  if (AiError.isAiErrorReason(error)) return error
  return fromRequestError(error) ?? fromResponseError(error, surroundings) ?? unclassified(error, surroundings)
}

/** Returns the reason of an error about the server's answer, or of a request without one. */
const fromResponseError = (error: unknown, surroundings: Surroundings): AiError.AiErrorReason | undefined => {
  if (APICallError.isInstance(error)) {
    return fromAnswer({
      name: error.name,
      status: statusIn(error.statusCode),
      retryable: error.isRetryable,
      data: error.data ?? parsed(error.responseBody),
      headers: Headers.fromInput(error.responseHeaders),
      body: textOf(error.responseBody),
      url: error.url,
      cause: error.cause
    }, surroundings)
  }
  if (TypeValidationError.isInstance(error) && meaningfulCodes(error.value).length > 0) {
    // an error event that the provider package has no schema for
    return fromAnswer({ name: error.name, data: error.value }, surroundings)
  }
  if (isUnreadable(error)) {
    return ProviderResponse.keep(
      new AiError.InvalidResponseError({ description: offProtocol, metadata: metadata({ error: error.name }) }),
      error.message,
      surroundings.scrub
    )
  }
  const code = networkCode(error)
  if (code !== undefined) return network({ url: undefined, description: code, code })
  if (isAbort(error)) return network({ url: undefined, description: "The request was aborted before it was answered" })
  if (isFields(error)) {
    // errors that only look like the SDK's: stream error parts, and the errors of @ai-sdk/gateway
    const { data, isRetryable: retryable, name } = error
    const status = statusIn(error["statusCode"])
    if (status !== undefined || codesOf(error).length > 0) {
      return fromAnswer({ name, status, retryable, data: data ?? error }, surroundings)
    }
  }
  return undefined
}

/** An error in words alone, in place of an answer, may be about a prompt that is too long. */
const unclassified = (error: unknown, { isInPlaceOfAnswer, scrub }: Surroundings): AiError.AiErrorReason =>
  ProviderResponse.keep(
    new AiError.UnknownError({
      description: "The provider package failed for a reason it does not classify",
      metadata: metadata({
        error: error instanceof Error ? error.name : typeof error,
        kind: isInPlaceOfAnswer === true && !(error instanceof Error) ? "unexplained" : undefined
      })
    }),
    error instanceof Error ? error.message : undefined,
    scrub
  )

const meaningfulCodes = (data: unknown): ReadonlyArray<string> =>
  isFields(data) && isFields(data["error"]) ? codesOf(data) : []

const statusIn = (status: unknown): number | undefined => Number.isInteger(status) ? status as number : undefined

// Typed as text, but some packages put the parsed body here.
const textOf = (body: unknown): string | undefined => typeof body === "string" ? body : JSON.stringify(body)

const parsed = (body: unknown): unknown => {
  if (typeof body !== "string") return body
  try {
    return Tool.unsafeSecureJsonParse(body)
  } catch {
    return undefined
  }
}

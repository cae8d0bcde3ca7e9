/** Errors of the AI SDK as `AiError`s: by class and code, never by prose. */
import {
  type AISDKError,
  APICallError,
  EmptyResponseBodyError,
  InvalidArgumentError,
  InvalidPromptError,
  InvalidResponseDataError,
  JSONParseError,
  LoadAPIKeyError,
  LoadSettingError,
  NoContentGeneratedError,
  NoSuchModelError,
  NoSuchProviderReferenceError,
  TooManyEmbeddingValuesForCallError,
  TypeValidationError,
  UnsupportedFunctionalityError
} from "@ai-sdk/provider"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as AiError from "effect/ai/AiError"
import * as Tool from "effect/ai/Tool"
import * as Headers from "effect/http/Headers"
import type * as IdleTimeout from "@recourse/core/IdleTimeout"
import * as ProviderResponse from "@recourse/core/ProviderResponse"
import * as Redaction from "@recourse/core/Redaction"
import * as TransportRetry from "@recourse/core/TransportRetry"
import { codesOf, errorFields, isFields, meaningOf, statusOf } from "./errorCodes.ts"
import { retryDelayOf } from "./retryDelay.ts"

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
  self: Effect.Effect<A, AiError.AiError | IdleTimeout.Silence, R>
): Effect.Effect<A, AiError.AiError, R> =>
  Effect.catchTag(self, "Silence", (silence) => Effect.fail(silent(method, silence)))

export const silent = (method: Method, silence: IdleTimeout.Silence): AiError.AiError =>
  make(method, network({ url: undefined, description: silence.message }))

/** The server's answer holds nothing of what an answer consists of. */
export const blank = (method: Method): AiError.AiError =>
  make(method, new AiError.InvalidResponseError({ description: offProtocol }))

const offProtocol = "The provider's answer does not follow its protocol"

/** Whatever a provider package threw or put into its stream, as an `AiError`. */
export const fromUnknown = (method: Method, error: unknown): Effect.Effect<AiError.AiError> =>
  AiError.isAiError(error)
    ? Effect.succeed(error)
    : Effect.map(
      Effect.all([Clock.currentTimeMillis, Redaction.Redaction]),
      ([now, redactor]) => make(method, readable(error, { now, scrub: redactor.text }))
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

interface Surroundings {
  readonly now: number
  /** Takes out what must not be shown. */
  readonly scrub: (text: string) => string
}

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
    const status = statusIn(error["statusCode"])
    const retryable = error["isRetryable"]
    const data = error["data"]
    if (status !== undefined || codesOf(error).length > 0) {
      return fromAnswer({
        name: typeof error["name"] === "string" ? error["name"] : "error",
        status,
        retryable: typeof retryable === "boolean" ? retryable : undefined,
        data: data ?? error
      }, surroundings)
    }
  }
  return ProviderResponse.keep(
    new AiError.UnknownError({
      description: "The provider package failed for a reason it does not classify",
      metadata: metadata({ error: error instanceof Error ? error.name : typeof error })
    }),
    error instanceof Error ? error.message : undefined,
    surroundings.scrub
  )
}

/** What is known of a failed answer of a server. */
interface Answer {
  readonly name: string
  readonly data: unknown
  readonly status?: number | undefined
  readonly retryable?: boolean | undefined
  readonly headers?: Headers.Headers
  readonly body?: string | undefined
  readonly url?: string
  readonly cause?: unknown
}

const fromAnswer = (answer: Answer, surroundings: Surroundings): AiError.AiErrorReason =>
  ProviderResponse.keep(
    classify(answer, surroundings),
    answer.body ?? JSON.stringify(answer.data),
    surroundings.scrub
  )

/** Words without digits, or a status: what a code looks like, and a key does not. */
const word = /^(?:[A-Za-z]{1,40}(?:[_.][A-Za-z]{1,40}){0,8}|\d{3})$/

const classify = (answer: Answer, { now, scrub }: Surroundings): AiError.AiErrorReason => {
  const headers = answer.headers ?? Headers.empty
  const codes = codesOf(answer.data)
  const fields = errorFields(answer.data)
  const retryAfter = TransportRetry.retryAfter(headers, now) ?? retryDelay(fields?.["details"])
  const shown = (code: unknown): code is string => typeof code === "string" && word.test(code) && scrub(code) === code
  const param = fields?.["param"]
  const facts = {
    error: shown(answer.name) ? answer.name : "error",
    codes: codes.filter(shown),
    param: shown(param) ? param : undefined,
    retryAfterMillis: retryAfter === undefined ? undefined : Duration.toMillis(retryAfter)
  }
  const common = {
    metadata: metadata(facts),
    ...(answer.status === undefined ? undefined : {
      http: {
        response: { status: answer.status, headers: ProviderResponse.headers(headers, scrub) }
      }
    })
  }

  const meaning = meaningOf(codes)
  switch (meaning?._tag) {
    case "Quota":
      return new AiError.QuotaExhaustedError(common)
    case "Authentication":
      return new AiError.AuthenticationError({ kind: meaning.kind, ...common })
    case "ContentPolicy":
      return new AiError.ContentPolicyError({ description: "The provider refused the content", ...common })
    case "ContextLength":
      return new AiError.InvalidRequestError({
        parameter: "prompt",
        constraint: "must fit into the model's context window",
        ...common,
        metadata: metadata({ ...facts, kind: "context-length" })
      })
    case "UnknownModel":
      return new AiError.InvalidRequestError({
        parameter: "model",
        constraint: "must name a model that the provider serves",
        ...common
      })
  }

  const succeeded = answer.status !== undefined && answer.status < 400
  const status = answer.status === undefined || succeeded ? statusOf(codes) ?? answer.status : answer.status
  // the SDK fills in `isRetryable` from the status, so next to a status of no error its `false` says nothing
  const said = status === answer.status || answer.retryable === true ? answer.retryable : undefined
  const retryable = shouldRetry(headers) ?? said
  const description = `The provider answered with status ${status}`

  if (status !== undefined && status >= 300 && status < 400) {
    return new AiError.InvalidRequestError({
      ...common,
      parameter: "baseURL",
      constraint:
        "must be the server's own address: redirects are not followed, as they would take the conversation elsewhere",
      description
    })
  }
  if (status === undefined || status < 400) {
    if (findInCauses(answer.cause, (cause) => isUnreadable(cause) ? true : undefined) === true) {
      return new AiError.InvalidResponseError({
        description: offProtocol,
        ...common
      })
    }
    const code = networkCode(answer.cause)
    if (code !== undefined || retryable === true || (succeeded && answer.cause !== undefined)) {
      return network({
        url: answer.url,
        code,
        description: code ?? (succeeded ? "The answer could not be read to its end" : "The provider was not reached")
      })
    }
    return new AiError.UnknownError({ description: "The provider reported an error without a known code", ...common })
  }
  if (status === 429) {
    return retryable === false
      ? new AiError.QuotaExhaustedError(common)
      : new AiError.RateLimitError({ ...common, ...(retryAfter === undefined ? undefined : { retryAfter }) })
  }
  // 425 is not in the AI SDK's own list, so its `false` there says nothing
  const transient = status === 408 || status === 409 || status === 425 || status >= 500
  if (
    retryable === true || (transient && (retryable !== false || (status === 425 && shouldRetry(headers) === undefined)))
  ) {
    return withRetryAfter(new AiError.InternalProviderError({ description, ...common }), retryAfter)
  }
  if (status >= 500 || transient) return new AiError.UnknownError({ description, ...common })
  switch (status) {
    case 401:
      return new AiError.AuthenticationError({ kind: "InvalidKey", ...common })
    case 402:
      return new AiError.QuotaExhaustedError(common)
    case 403:
      return new AiError.AuthenticationError({ kind: "InsufficientPermissions", ...common })
    default:
      return new AiError.InvalidRequestError({ description, ...common })
  }
}

/** `AiError.retryAfter` reads this property from any reason, but Effect declares it on `RateLimitError` alone. */
const withRetryAfter = <R extends AiError.AiErrorReason>(reason: R, retryAfter: Duration.Duration | undefined): R =>
  retryAfter === undefined ? reason : Object.assign(reason, { retryAfter })

const network = (params: {
  readonly url: string | undefined
  readonly description: string
  readonly code?: string | undefined
}): AiError.NetworkError =>
  new AiError.NetworkError({
    reason: params.code === "ERR_INVALID_URL" ? "InvalidUrlError" : "TransportError",
    method: "POST",
    url: withoutSecrets(params.url),
    description: params.description
  })

/** Some providers carry the key in the query or in the user info. */
const withoutSecrets = (url: string | undefined): string => {
  if (url === undefined || !URL.canParse(url)) return ""
  const { origin, pathname } = new URL(url)
  return `${origin}${pathname}`
}

const shouldRetry = (headers: Headers.Headers): boolean | undefined => {
  const value = Option.getOrUndefined(Headers.get(headers, "x-should-retry"))
  return value === "true" ? true : value === "false" ? false : undefined
}

const retryDelay = (details: unknown): Duration.Duration | undefined => {
  for (const detail of Array.isArray(details) ? details : []) {
    const delay = isFields(detail) ? retryDelayOf(detail["retryDelay"]) : undefined
    if (delay !== undefined) return delay
  }
  return undefined
}

const meaningfulCodes = (data: unknown): ReadonlyArray<string> =>
  isFields(data) && isFields(data["error"]) ? codesOf(data) : []

const isUnreadable = (error: unknown): error is AISDKError =>
  TypeValidationError.isInstance(error) || JSONParseError.isInstance(error) ||
  InvalidResponseDataError.isInstance(error) || EmptyResponseBodyError.isInstance(error)

const isAbort = (error: unknown): boolean =>
  isFields(error) && (error["name"] === "AbortError" || error["name"] === "TimeoutError")

const networkCodes = /^(E[A-Z]{3,}|EAI_AGAIN|UND_ERR_[A-Z_]+|HPE_[A-Z_]+|ERR_INVALID_URL|ERR_STREAM_PREMATURE_CLOSE)$/

/** The code that Node, undici or the TLS layer gave to a connection that failed. */
const networkCode = (error: unknown): string | undefined =>
  findInCauses(error, (cause) => {
    const code = isFields(cause) ? cause["code"] : undefined
    return cause instanceof Error && typeof code === "string" && networkCodes.test(code) ? code : undefined
  })

const findInCauses = <A>(error: unknown, find: (cause: unknown) => A | undefined): A | undefined => {
  const seen = new Set<unknown>()
  for (let cause = error; isFields(cause) && !seen.has(cause); cause = cause["cause"]) {
    seen.add(cause)
    const found = find(cause)
    if (found !== undefined) return found
  }
  return undefined
}

const metadata = (fields: Readonly<Record<string, unknown>>): AiError.ProviderMetadata => ({
  aiSdk: JSON.parse(JSON.stringify(fields))
})

const statusIn = (status: unknown): number | undefined =>
  typeof status === "number" && Number.isInteger(status) ? status : undefined

// Typed as text, but some packages put the parsed body here.
const textOf = (body: unknown): string | undefined =>
  body === undefined || typeof body === "string" ? body : JSON.stringify(body)

const parsed = (body: unknown): unknown => {
  if (typeof body !== "string") return body
  try {
    return Tool.unsafeSecureJsonParse(body)
  } catch {
    return undefined
  }
}

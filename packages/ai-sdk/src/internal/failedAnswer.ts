/** Failed answers of a server as reasons of `AiError`: by status, codes and headers. */
import * as Duration from "effect/Duration"
import * as Option from "effect/Option"
import * as AiError from "effect/ai/AiError"
import * as Headers from "effect/http/Headers"
import * as ProviderCode from "@recourse/core/ProviderCode"
import * as ProviderResponse from "@recourse/core/ProviderResponse"
import * as TransportRetry from "@recourse/core/TransportRetry"
import { findInCauses, isUnreadable, networkCode } from "./causes.ts"
import { codesOf, errorFields, meaningOf, statusOf } from "./errorCodes.ts"

export interface Surroundings {
  readonly now: number
  /** Redacts a text. */
  readonly scrub: (text: string) => string
  /** True for an error in a stream before any part of the answer. */
  readonly isInPlaceOfAnswer?: boolean | undefined
}

export const offProtocol = "The provider's answer does not follow its protocol"

/** Known facts of a failed answer of a server. */
export interface Answer {
  readonly name: unknown
  readonly data: unknown
  readonly status?: number | undefined
  /** The provider package's advice to send the request again: `true`, `false`, or another value. */
  readonly retryable?: unknown
  readonly headers?: Headers.Headers
  readonly body?: string | undefined
  readonly url?: string
  readonly cause?: unknown
}

/** The reason of a failed answer, with the answer attached for the operator. */
export const fromAnswer = (answer: Answer, surroundings: Surroundings): AiError.AiErrorReason =>
  ProviderResponse.keep(
    classify(answer, surroundings),
    answer.body ?? JSON.stringify(answer.data),
    surroundings.scrub
  )

/** Words without digits, or a status: the look of a code, and not of a key. */
const word = /^(?:[A-Za-z]{1,40}(?:[_.][A-Za-z]{1,40}){0,8}|\d{3})$/

const classify = (answer: Answer, surroundings: Surroundings): AiError.AiErrorReason => {
  const codes = codesOf(answer.data)
  const exchange = exchangeOf(answer, codes, surroundings)
  return byMeaning(codes, exchange) ?? byStatus(answer, codes, exchange)
}

/** Facts of a failed answer, without secrets. */
interface Exchange {
  readonly headers: Headers.Headers
  readonly retryAfter: Duration.Duration | undefined
  /** The parameter that the server names. */
  readonly param: unknown
  readonly common: {
    readonly metadata: AiError.ProviderMetadata
    readonly http?: typeof AiError.HttpContext.Type
  }
  /** The metadata with the kind of an error that `AiError` has no reason for. */
  readonly metadataOf: (kind: "context-length" | "unexplained") => AiError.ProviderMetadata
}

const exchangeOf = (answer: Answer, codes: ReadonlyArray<string>, { now, scrub }: Surroundings): Exchange => {
  const headers = answer.headers ?? Headers.empty
  const retryAfter = TransportRetry.serverWait(
    { status: answer.status ?? statusOf(codes) ?? 0, headers, body: answer.data ?? answer.body },
    now
  )
  const shown = (code: unknown): code is string => typeof code === "string" && word.test(code) && scrub(code) === code
  const param = errorFields(answer.data)?.["param"]
  const facts = {
    error: shown(answer.name) ? answer.name : "error",
    codes: codes.filter(shown),
    param: shown(param) ? param : undefined,
    retryAfterMillis: retryAfter === undefined ? undefined : Duration.toMillis(retryAfter)
  }
  const http = answer.status === undefined ? undefined : {
    http: { response: { status: answer.status, headers: ProviderResponse.headers(headers, scrub) } }
  }
  return {
    headers,
    retryAfter,
    param,
    common: { metadata: metadata(facts), ...http },
    metadataOf: (kind) => metadata({ ...facts, kind })
  }
}

const tooLong = ({ common, metadataOf }: Exchange): AiError.InvalidRequestError =>
  new AiError.InvalidRequestError({
    parameter: "prompt",
    constraint: "must fit into the model's context window",
    ...common,
    metadata: metadataOf("context-length")
  })

/** The reason of a known code. */
const byMeaning = (
  codes: ReadonlyArray<string>,
  exchange: Exchange
): AiError.AiErrorReason | undefined => {
  const { common, param } = exchange
  const meaning = meaningOf(codes, param)
  switch (meaning) {
    case undefined:
      return undefined
    case "Quota":
      return new AiError.QuotaExhaustedError(common)
    case "ContentPolicy":
      return new AiError.ContentPolicyError({ description: "The provider refused the content", ...common })
    case "ContextLength":
      return tooLong(exchange)
    case "UnknownModel":
      return new AiError.InvalidRequestError({
        parameter: "model",
        constraint: "must name a model that the provider serves",
        ...common
      })
    default:
      return new AiError.AuthenticationError({ kind: meaning, ...common })
  }
}

const byStatus = (answer: Answer, codes: ReadonlyArray<string>, exchange: Exchange): AiError.AiErrorReason => {
  const { common, headers, retryAfter } = exchange
  const isError = answer.status !== undefined && answer.status >= 400
  const status = isError ? answer.status : statusOf(codes) ?? answer.status
  // the SDK derives `isRetryable` from the status, so its `false` has no meaning next to a success status
  const said = status === answer.status || answer.retryable === true ? answer.retryable : undefined
  const retryable = shouldRetry(headers) ?? said
  const description = `The provider answered with status ${status}`
  if (status === undefined || status < 300) return unanswered(answer, retryable, exchange)
  if (status < 400) {
    return new AiError.InvalidRequestError({
      ...common,
      parameter: "baseURL",
      constraint:
        "must be the server's own address: redirects are not followed, because they would send the conversation elsewhere",
      description
    })
  }
  if (status === 429) {
    return retryable === false
      ? new AiError.QuotaExhaustedError(common)
      : new AiError.RateLimitError({ ...common, retryAfter })
  }
  // 425 is not in the AI SDK's own list, so its `false` there has no meaning
  const transient = status === 408 || status === 409 || status === 425 || status >= 500
  if (
    retryable === true || (transient && (retryable !== false || (status === 425 && shouldRetry(headers) === undefined)))
  ) {
    return withRetryAfter(new AiError.InternalProviderError({ description, ...common }), retryAfter)
  }
  return transient ? new AiError.UnknownError({ description, ...common }) : refusal(status, description, exchange)
}

/** No status of an error: the answer could not be read, or there is none. */
const unanswered = (answer: Answer, retryable: unknown, { common }: Exchange): AiError.AiErrorReason => {
  const succeeded = answer.status !== undefined && answer.status < 400
  if (findInCauses(answer.cause, (cause) => isUnreadable(cause) ? true : undefined) === true) {
    return new AiError.InvalidResponseError({ description: offProtocol, ...common })
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

/** A status by which a repeated request is refused again. */
const refusal = (status: number, description: string, exchange: Exchange): AiError.AiErrorReason => {
  const { common, metadataOf, param } = exchange
  switch (status) {
    case 413:
      return tooLong(exchange)
    case 401:
      return new AiError.AuthenticationError({ kind: "InvalidKey", ...common })
    case 402:
      return new AiError.QuotaExhaustedError(common)
    case 403:
      return new AiError.AuthenticationError({ kind: "InsufficientPermissions", ...common })
    default:
      return new AiError.InvalidRequestError({
        description,
        ...common,
        ...(ProviderCode.invalidStatuses.includes(status) && (typeof param !== "string" || ProviderCode.isPrompt(param))
          ? { metadata: metadataOf("unexplained") }
          : undefined)
      })
  }
}

/** `AiError.retryAfter` reads this property from any reason, but Effect declares it on `RateLimitError` alone. */
const withRetryAfter = <R extends AiError.AiErrorReason>(reason: R, retryAfter: Duration.Duration | undefined): R =>
  retryAfter === undefined ? reason : Object.assign(reason, { retryAfter })

/** A server that was not reached, or whose answer broke off. */
export const network = (params: {
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

/** Fields of a reason about the AI SDK's error. */
export const metadata = (fields: Readonly<Record<string, unknown>>): AiError.ProviderMetadata => ({
  aiSdk: JSON.parse(JSON.stringify(fields))
})

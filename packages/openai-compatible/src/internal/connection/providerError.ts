/**
 * Errors of a server as reasons of `AiError`: by status and by the error object's codes, never by its prose.
 *
 * A message contains the status, the host and a code; the body is attached to the error for the operator, see
 * `ProviderResponse`.
 */
import * as AiError from "effect/ai/AiError"
import * as Duration from "effect/Duration"
import type * as Headers from "effect/http/Headers"
import type * as Schema from "effect/Schema"
import * as ProviderCode from "@recourse/core/ProviderCode"
import * as ProviderResponse from "@recourse/core/ProviderResponse"
import * as TransportRetry from "@recourse/core/TransportRetry"
import { ownField } from "../answer/ownField.ts"
import type { Codes } from "./errorCodes.ts"
import type { Target } from "./target.ts"

const modelOutput = new Set(["tool_use_failed", "json_validate_failed"])

/** True if one of the codes has the meaning. */
const means = (codes: Codes, ...meanings: ReadonlyArray<ProviderCode.Meaning>): boolean =>
  [...codes.all].some((code) => meanings.some((meaning) => ProviderCode.meaningOf(code, codes.param) === meaning))

/** True if one of the codes has one of the statuses. */
const haveStatus = (codes: Codes, ...statuses: ReadonlyArray<number>): boolean =>
  [...codes.all].some((code) => statuses.includes(ProviderCode.statusOf(code) ?? 0))

/** True if the account, not the rate, is used up: waiting does not help. */
export const isQuota = (status: number | undefined, codes: Codes): boolean => status === 402 || means(codes, "Quota")

/**
 * The server is failing or busy for now. `AiError.retryAfter` reads the wait that the server asked for from any reason, but
 * Effect declares it on `RateLimitError` alone; the encoded form has it in `metadata.openaiCompatible.retryAfterMillis`.
 */
const unavailable = (
  props: ConstructorParameters<typeof AiError.InternalProviderError>[0],
  retryAfter: Duration.Duration | undefined
): AiError.InternalProviderError => {
  const reason = new AiError.InternalProviderError(props)
  return retryAfter === undefined ? reason : Object.assign(reason, { retryAfter })
}

/**
 * True if the prompt was too long for the model.
 *
 * @category predicates
 * @since 0.2.0
 */
export const isContextLength = (error: AiError.AiError): boolean =>
  error.reason._tag === "InvalidRequestError" &&
  ownField(error.reason.metadata.openaiCompatible, "kind") === "context-length"

/** A failed answer, or an error inside one that began well. */
export interface FailedAnswer {
  /** The HTTP status. */
  readonly status: number
  readonly headers: Headers.Headers
  readonly body: string
  readonly codes: Codes
  /** True if a part of the answer came before the error. */
  readonly hasContent?: boolean
}

const identifier = (value: string): string | undefined => /^[\w.:/[\]-]{1,64}$/.test(value) ? value : undefined

/** The operator's view of the exchange in the error itself. */
export const httpContext = (
  answer: { readonly status: number; readonly headers: Headers.Headers },
  target: Target
): typeof AiError.HttpContext.Type => ({
  response: { status: answer.status, headers: ProviderResponse.headers(answer.headers, target.scrub) }
})

/**
 * The reason of a failed answer, with the body attached. `now` is the time in milliseconds, for dates in `Retry-After`.
 */
export const reason = (answer: FailedAnswer, target: Target, now: number): AiError.AiErrorReason =>
  ProviderResponse.keep(reasonOf(answer, target, now), answer.body, target.scrub)

/** The reason by the first rule that applies; without one, the server is failing for now. */
const reasonOf = (answer: FailedAnswer, target: Target, now: number): AiError.AiErrorReason => {
  const exchange = exchangeOf(answer, target, now)
  return redirected(exchange) ??
    refused(exchange) ??
    unauthenticated(exchange, target) ??
    unknown(exchange, target) ??
    temporary(exchange) ??
    invalid(exchange) ??
    unavailable(isBare(answer) ? unexplained(exchange) : exchange.described, exchange.retryAfter)
}

/**
 * True for an error in words alone, in place of an answer that began well. Servers report failures of their own so, and a prompt that is too
 * long for the model.
 */
const isBare = ({ codes, hasContent, status }: FailedAnswer): boolean =>
  status < 300 && hasContent !== true && codes.all.size === 0 && codes.status === undefined

/** The description of a refusal whose reason is unknown: the prompt may be too long. */
const unexplained = ({ described, facts }: Exchange): Exchange["described"] => ({
  ...described,
  metadata: { openaiCompatible: { ...facts, kind: "unexplained" } }
})

/** Facts of a failed answer, without secrets. */
interface Exchange {
  readonly codes: Codes
  /** The status that applies: the error's own one if the answer began well. */
  readonly status: number | undefined
  readonly retryAfter: Duration.Duration | undefined
  readonly parameter: string | undefined
  readonly facts: Record<string, Schema.MutableJson>
  readonly common: {
    readonly http: typeof AiError.HttpContext.Type
    readonly metadata: { readonly openaiCompatible: Record<string, Schema.MutableJson> }
  }
  readonly described: Exchange["common"] & { readonly description: string }
}

const exchangeOf = (answer: FailedAnswer, target: Target, now: number): Exchange => {
  const { codes } = answer
  const shown = (value: string | undefined) => value === undefined ? undefined : identifier(target.scrub(value))
  const inside = answer.status < 300
  const status = inside ? codes.status : answer.status
  const retryAfter = TransportRetry.serverWait({ ...answer, status: status ?? answer.status }, now)
  const code = shown(codes.code ?? codes.type)
  const type = shown(codes.type)
  const parameter = shown(codes.param)
  const requestId = shown(answer.headers["x-request-id"] ?? answer.headers["request-id"])
  const description = `${inside ? "Error in the answer" : `HTTP ${answer.status}`} from ${target.host}` +
    (code === undefined ? "" : ` (code ${code})`)
  const facts: Record<string, Schema.MutableJson> = {
    ...(status === undefined ? undefined : { status }),
    ...(codes.code === undefined || code === undefined ? undefined : { code }),
    ...(type === undefined ? undefined : { type }),
    ...(parameter === undefined ? undefined : { param: parameter }),
    ...(requestId === undefined ? undefined : { requestId }),
    ...(retryAfter === undefined ? undefined : { retryAfterMillis: Duration.toMillis(retryAfter) })
  }
  const common = { http: httpContext(answer, target), metadata: { openaiCompatible: facts } }
  return { codes, status, retryAfter, parameter, facts, common, described: { ...common, description } }
}

type Reason = AiError.AiErrorReason | undefined

const redirected = ({ described, status }: Exchange): Reason =>
  status !== undefined && status < 400
    ? new AiError.InvalidRequestError({
      ...described,
      parameter: "baseUrl",
      constraint:
        "must be the server's own address: redirects are not followed, because they would send the conversation elsewhere"
    })
    : undefined

/** The account is used up, or the content or its length is refused. */
const refused = ({ codes, common, described, facts, status }: Exchange): Reason => {
  if (isQuota(status, codes)) return new AiError.QuotaExhaustedError(common)
  if (means(codes, "ContentPolicy") || (status === 403 && codes.moderated)) {
    return new AiError.ContentPolicyError(described)
  }
  if (means(codes, "ContextLength") || status === 413) {
    return new AiError.InvalidRequestError({
      ...described,
      metadata: { openaiCompatible: { ...facts, kind: "context-length" } },
      parameter: "messages",
      constraint: "must fit the model's context window: shorten the history or choose a model with a larger one"
    })
  }
  return undefined
}

const keyKinds = ["InvalidKey", "ExpiredKey", "MissingKey", "InsufficientPermissions"] as const

const unauthenticated = ({ codes, described, status }: Exchange, { hasKey }: Target): Reason => {
  const coded = keyKinds.find((kind) => means(codes, kind))
  const kind = coded ??
    (status === 401
      ? hasKey ? "InvalidKey" : "MissingKey"
      : status === 403
      ? "InsufficientPermissions"
      : undefined)
  return kind === undefined ? undefined : new AiError.AuthenticationError({ ...described, kind })
}

const unknown = ({ codes, described, status }: Exchange, { model }: Target): Reason =>
  status === 404 || means(codes, "UnknownModel")
    ? new AiError.InvalidRequestError({
      ...described,
      parameter: "model",
      constraint: `names no model of this server, or no server answers under this base URL (model "${model}"): ` +
        "compare it with the ids that the server lists under /models"
    })
    : undefined

/**
 * Statuses below 500 of servers that are failing or busy for now. 424: the model failed (TGI, Bedrock); 498: no room (Groq); 499: cancelled
 * on the way (Google).
 */
const busy: ReadonlySet<number> = new Set([408, 409, 424, 425, 498, 499])

/** Another request may succeed, at once or later. */
const temporary = ({ codes, common, described, retryAfter, status }: Exchange): Reason => {
  if ([...codes.all].some((code) => modelOutput.has(code))) {
    return new AiError.InvalidOutputError({ description: described.description, metadata: common.metadata })
  }
  if (haveStatus(codes, 503, 529)) return unavailable(described, retryAfter)
  if (status === 429 || haveStatus(codes, 429)) {
    return new AiError.RateLimitError({ ...common, ...(retryAfter === undefined ? undefined : { retryAfter }) })
  }
  return status !== undefined && (status >= 500 || busy.has(status)) ? unavailable(described, retryAfter) : undefined
}

const invalid = (exchange: Exchange): Reason => {
  const { codes, described, parameter, status } = exchange
  const isCoded = haveStatus(codes, ...ProviderCode.invalidStatuses)
  if (status === undefined && !isCoded) return undefined
  const isInvalid = status === undefined ? isCoded : ProviderCode.invalidStatuses.includes(status)
  const isUnexplained = isInvalid && (codes.param === undefined || ProviderCode.isPrompt(codes.param))
  return new AiError.InvalidRequestError({
    ...(isUnexplained ? unexplained(exchange) : described),
    ...(parameter === undefined ? undefined : { parameter })
  })
}

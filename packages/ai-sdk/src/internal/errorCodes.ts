/** Error codes of AI SDK providers as reasons of `AiError`. */
import type * as AiError from "effect/ai/AiError"

/** Meaning of a provider's error code for any status. Codes are compared in lower case. */
export type Meaning =
  | { readonly _tag: "Quota" }
  | { readonly _tag: "Authentication"; readonly kind: AiError.AuthenticationError["kind"] }
  | { readonly _tag: "ContentPolicy" }
  | { readonly _tag: "ContextLength" }
  | { readonly _tag: "UnknownModel" }

const quota: Meaning = { _tag: "Quota" }
const contentPolicy: Meaning = { _tag: "ContentPolicy" }
const contextLength: Meaning = { _tag: "ContextLength" }
const unknownModel: Meaning = { _tag: "UnknownModel" }
const authentication = (kind: AiError.AuthenticationError["kind"]): Meaning => ({ _tag: "Authentication", kind })

const meanings: ReadonlyMap<string, Meaning> = new Map([
  ["insufficient_quota", quota],
  ["quota_exceeded", quota],
  ["exceeded_current_quota_error", quota],
  ["billing_error", quota],
  ["billing_not_active", quota],
  ["billing_hard_limit_reached", quota],
  ["invalid_api_key", authentication("InvalidKey")],
  ["api_key_invalid", authentication("InvalidKey")],
  ["authentication_error", authentication("InvalidKey")],
  ["invalid_authentication_error", authentication("InvalidKey")],
  ["unauthenticated", authentication("InvalidKey")],
  ["api_key_expired", authentication("ExpiredKey")],
  ["expired_api_key", authentication("ExpiredKey")],
  ["missing_api_key", authentication("MissingKey")],
  ["permission_error", authentication("InsufficientPermissions")],
  ["permission_denied", authentication("InsufficientPermissions")],
  ["account_deactivated", authentication("InsufficientPermissions")],
  ["unsupported_country_region_territory", authentication("InsufficientPermissions")],
  ["content_filter", contentPolicy],
  ["content_policy_violation", contentPolicy],
  ["responsibleaipolicyviolation", contentPolicy],
  ["moderation_blocked", contentPolicy],
  ["context_length_exceeded", contextLength],
  ["model_not_found", unknownModel]
])

/** The status of a code that came without one: an error event inside a stream that started with 200. */
const statuses: ReadonlyMap<string, number> = new Map([
  ["invalid_request_error", 400],
  ["invalid_argument", 400],
  ["failed_precondition", 400],
  ["out_of_range", 400],
  ["not_found", 404],
  ["not_found_error", 404],
  ["aborted", 409],
  ["request_too_large", 413],
  ["rate_limit_error", 429],
  ["rate_limit_exceeded", 429],
  ["resource_exhausted", 429],
  ["too_many_requests", 429],
  ["api_error", 500],
  ["internal", 500],
  ["internal_error", 500],
  ["internal_server_error", 500],
  ["server_error", 500],
  ["service_unavailable", 503],
  ["unavailable", 503],
  ["deadline_exceeded", 504],
  ["timeout_error", 504],
  ["overloaded_error", 529]
])

const firstIn = <A>(table: ReadonlyMap<string, A>, codes: ReadonlyArray<string>): A | undefined => {
  for (const code of codes) {
    const found = table.get(code.toLowerCase())
    if (found !== undefined) return found
  }
  return undefined
}

export const meaningOf = (codes: ReadonlyArray<string>): Meaning | undefined => firstIn(meanings, codes)

export const statusOf = (codes: ReadonlyArray<string>): number | undefined =>
  firstIn(statuses, codes) ?? codes.map(Number).find((code) => Number.isInteger(code) && code >= 400 && code <= 599)

type Fields = Readonly<Record<string, unknown>>

export const isFields = (u: unknown): u is Fields => typeof u === "object" && u !== null && !Array.isArray(u)

/** The record that holds the code: OpenAI and Google `{ error }`, OpenAI Responses `{ response: { error } }`, bare. */
export const errorFields = (data: unknown): Fields | undefined => {
  if (!isFields(data)) return undefined
  if (isFields(data["error"])) return data["error"]
  const response = data["response"]
  return isFields(response) && isFields(response["error"]) ? response["error"] : data
}

/** The codes in a provider's error data, the most specific first. */
export const codesOf = (data: unknown): ReadonlyArray<string> => {
  const error = errorFields(data)
  if (error === undefined) return []
  const inner = error["innererror"]
  const details = error["details"]
  return [
    ...(isFields(inner) ? [inner["code"]] : []),
    ...(isFields(details) ? [details["error_code"]] : []),
    ...(Array.isArray(details)
      ? details.map((detail: unknown) => isFields(detail) ? detail["reason"] : undefined)
      : []),
    error["code"],
    error["status"],
    error["type"]
  ].flatMap((code) => typeof code === "string" || typeof code === "number" ? [String(code)] : [])
}

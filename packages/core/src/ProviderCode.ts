/**
 * Error codes of model servers, for the providers of the project: one table of their meanings, whatever package reads the answer. Prose is
 * never examined.
 */
import type * as AiError from "effect/ai/AiError"

/** @internal The meaning of an error code, whatever the status of its answer. The kinds of `AuthenticationError` are those of effect. */
export type Meaning = "Quota" | "ContentPolicy" | "ContextLength" | "UnknownModel" | AiError.AuthenticationError["kind"]

const codesOf: Readonly<Record<Exclude<Meaning, "Unknown">, ReadonlyArray<string>>> = {
  Quota: [
    "insufficient_quota",
    "quota_exceeded",
    "exceeded_current_quota_error",
    "billing_error",
    "billing_hard_limit_reached",
    "billing_not_active",
    "insufficient_balance",
    "insufficient_credits",
    "insufficient_user_quota",
    "budget_exceeded",
    "arrearage",
    "base_resp_1008"
  ],
  ContentPolicy: [
    "content_policy_violation",
    "content_policy",
    "content_filter",
    "content_filter_error",
    "content_moderation",
    "moderation_blocked",
    "responsibleaipolicyviolation",
    "data_inspection_failed",
    "datainspectionfailed",
    "base_resp_1026",
    "base_resp_1027"
  ],
  ContextLength: [
    "context_length_exceeded",
    "context_window_exceeded",
    "context_limit_exceeded",
    "exceed_context_size_error",
    "string_above_max_length",
    "request_too_large"
  ],
  UnknownModel: [
    "model_not_found",
    "model_not_found_error",
    "unknown_model",
    "invalid_model",
    "resource_not_found_error"
  ],
  InvalidKey: [
    "invalid_api_key",
    "incorrect_api_key_error",
    "invalid_authentication_error",
    "authentication_error",
    "api_key_invalid",
    "unauthenticated",
    "unauthorized",
    "base_resp_1004",
    "base_resp_2049"
  ],
  ExpiredKey: ["expired_api_key", "api_key_expired", "token_expired"],
  MissingKey: ["missing_api_key"],
  InsufficientPermissions: [
    "permission_denied",
    "permission_error",
    "insufficient_permissions",
    "access_denied",
    "account_deactivated",
    "unsupported_country_region_territory"
  ]
}

const statusCodes: Readonly<Record<number, ReadonlyArray<string>>> = {
  400: [
    "invalid_request_error",
    "invalid_request",
    "invalid_argument",
    "failed_precondition",
    "out_of_range",
    "badrequesterror",
    "invalidparameter",
    "invalid_parameter_error",
    "base_resp_2013"
  ],
  404: ["not_found", "not_found_error"],
  409: ["aborted"],
  429: [
    "rate_limit_exceeded",
    "rate_limit_error",
    "rate_limit_reached_error",
    "rate_limited",
    "too_many_requests",
    "resource_exhausted",
    "base_resp_1002",
    "base_resp_1039",
    "base_resp_1041"
  ],
  500: ["api_error", "internal", "internal_error", "internal_server_error", "server_error"],
  503: ["service_unavailable", "unavailable", "unavailable_error"],
  504: ["deadline_exceeded", "timeout_error"],
  529: ["overloaded_error", "engine_overloaded_error", "overloaded"]
}

const invert = <A>(table: Iterable<readonly [A, ReadonlyArray<string>]>): ReadonlyMap<string, A> =>
  new Map(Array.from(table).flatMap(([value, codes]) => codes.map((code): [string, A] => [code, value])))

const meanings = invert(Object.entries(codesOf) as ReadonlyArray<[Meaning, ReadonlyArray<string>]>)
const statuses = invert(Object.entries(statusCodes).map(([status, codes]) => [Number(status), codes] as const))

/** True for the id or the name of a past call. */
const isOfCall = (param: unknown): boolean => /\.(?:id|tool_call_id|name)$/.test(String(param ?? ""))

/**
 * @internal Returns the meaning of an error code in any case, if it is the same for each status. `param` is the parameter that the server
 * names: one that is too long and belongs to a past call is no long prompt.
 */
export const meaningOf = (code: string, param?: unknown): Meaning | undefined => {
  const meaning = meanings.get(code.toLowerCase())
  return meaning === "ContextLength" && isOfCall(param) ? undefined : meaning
}

/** @internal Returns the HTTP status of an error code in any case, for an error inside a stream that began well. */
export const statusOf = (code: string): number | undefined => statuses.get(code.toLowerCase())

/** @internal Statuses of a request that a server refuses as invalid. 422: TGI, Together and servers of FastAPI. */
export const invalidStatuses: ReadonlyArray<number> = [400, 422]

const ofPrompt: ReadonlySet<unknown> = new Set([
  "messages",
  "input",
  "prompt",
  "contents",
  "input_tokens",
  "input_text"
])

/**
 * @internal True for a parameter that holds the conversation, or that a server names for its length. A refusal of it may be one of a prompt
 * that is too long.
 */
export const isPrompt = (param: unknown): boolean => ofPrompt.has(param)

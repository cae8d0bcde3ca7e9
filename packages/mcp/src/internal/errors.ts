/** Converts errors of effect's client to errors of a call. */
import * as TransportRetry from "@recourse/core/TransportRetry"
import * as Clock from "effect/Clock"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import type * as McpClientError from "effect/ai/McpClientError"
import * as McpSchema from "effect/ai/McpSchema"
import * as Headers from "effect/http/Headers"
import * as Errors from "../McpError.ts"
import { listTools } from "./client/listing.ts"
import type { Live } from "./connection.ts"

/** The tool that an error is about. */
export interface About {
  readonly server: string
  readonly tool: string
}

/** Codes of the system's errors before sending: no address, no connection. */
const neverSent = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT"
])

/** True if an error, or its cause, has one of those codes. */
const wasNeverSent = (error: unknown, depth = 0): boolean =>
  Predicate.isObject(error) && depth < 8 &&
  ((Object.hasOwn(error, "code") && neverSent.has((error as { code: string }).code)) ||
    ["cause", "reason"].some((key) => wasNeverSent((error as Record<string, unknown>)[key], depth + 1)))

/** JSON-RPC codes of requests that a server does not take. */
const refused = new Set<number>([
  McpSchema.PARSE_ERROR_CODE,
  McpSchema.INVALID_REQUEST_ERROR_CODE,
  McpSchema.METHOD_NOT_FOUND_ERROR_CODE
])

/** The code by which SDKs say that the other side ran out of time. */
const requestTimeout = -32_001

const waitOf = (text: string | undefined, now: number): { readonly retryAfter?: Duration.Duration } => {
  const retryAfter = text === undefined
    ? undefined
    : TransportRetry.retryAfter(Headers.fromInput({ "retry-after": text }), now)
  return retryAfter === undefined ? {} : { retryAfter }
}

/** The error of a status that decides whatever the body says. */
const ofStatus = (about: About, reason: McpClientError.HttpError, now: number): Errors.McpError | undefined => {
  const { retryAfter, status } = reason
  switch (status) {
    case 401:
    case 403:
      return new Errors.McpUnauthorized({ ...about, status })
    case 408:
    case 504:
      return new Errors.McpServerTimeout(about)
    case 429:
      return new Errors.McpRateLimited({ ...about, ...waitOf(retryAfter, now) })
    default:
      return undefined
  }
}

/** A JSON-RPC error, with the HTTP status of its answer unless that is a success. */
type Refusal = McpClientError.ProtocolError | McpClientError.HttpError

/** -32602 means arguments that a server refuses, or a missing tool: its list decides. */
const ofInvalidParams = (
  about: About,
  live: Live,
  descriptor: McpSchema.Tool,
  reason: Refusal
): Effect.Effect<Errors.McpError> =>
  listTools(live).pipe(
    Effect.timeout("5 seconds"),
    Effect.map(({ tools }) => tools.some(({ name }) => name === descriptor.name)),
    Effect.orElseSucceed(() => true),
    Effect.map((isThere) =>
      isThere
        ? new Errors.McpInvalidArgs({
          ...about,
          description: reason.description ?? "",
          ...(reason.data === undefined ? undefined : { data: reason.data })
        })
        : new Errors.McpUnknownTool(about)
    )
  )

/** The error of a JSON-RPC error by its code, also in an answer with another HTTP status than 200. */
const ofRefusal = (
  about: About,
  live: Live,
  descriptor: McpSchema.Tool,
  reason: Refusal
): Effect.Effect<Errors.McpError> => {
  const { code, data, message } = reason
  if (code === McpSchema.INVALID_PARAMS_ERROR_CODE) return ofInvalidParams(about, live, descriptor, reason)
  if (code === requestTimeout) return Effect.succeed(new Errors.McpServerTimeout(about))
  if (code !== undefined && refused.has(code)) {
    return Effect.succeed(new Errors.McpRequestRefused({ ...about, code, description: message }))
  }
  return Effect.succeed(
    new Errors.McpProtocolError({
      ...about,
      description: message,
      ...(reason._tag === "HttpError" ? { status: reason.status } : undefined),
      ...(code === undefined ? undefined : { code }),
      ...(data === undefined ? undefined : { data })
    })
  )
}

/**
 * Converts a failed call to its error, and whether its connection is unusable. `isExpired`: true if the session had
 * ended and the request was not read.
 */
export const fromClient = (
  about: About,
  live: Live,
  descriptor: McpSchema.Tool,
  { reason }: McpClientError.McpClientError,
  isExpired: boolean
): Effect.Effect<{ readonly error: Errors.McpError; readonly isLost: boolean }> => {
  const known = (error: Errors.McpError, isLost = false) => Effect.succeed({ error, isLost })
  if (isExpired) return known(new Errors.McpRequestNotSent({ ...about, description: "The session has expired" }), true)
  switch (reason._tag) {
    case "TransportError":
    case "ClosedError": {
      const cause = reason._tag === "TransportError" ? reason.cause : undefined
      const fields = { ...about, description: reason.message, ...(cause === undefined ? undefined : { cause }) }
      return known(
        wasNeverSent(cause) ? new Errors.McpRequestNotSent(fields) : new Errors.McpResponseLost(fields),
        true
      )
    }
    case "HttpError":
      return Effect.flatMap(Clock.currentTimeMillis, (now) => {
        const error = ofStatus(about, reason, now)
        const decided = error === undefined ? ofRefusal(about, live, descriptor, reason) : Effect.succeed(error)
        return Effect.map(decided, (error) => ({ error, isLost: false }))
      })
    case "TimeoutError":
      return known(new Errors.McpServerTimeout(about))
    case "ProtocolError":
      // Without a code the answer is not JSON-RPC, so the state of the connection is unknown.
      return Effect.map(ofRefusal(about, live, descriptor, reason), (error) => ({
        error,
        isLost: reason.code === undefined
      }))
    case "LimitError":
      return known(new Errors.McpProtocolError({ ...about, description: reason.message }), true)
    default:
      return known(new Errors.McpProtocolError({ ...about, description: reason.message }))
  }
}

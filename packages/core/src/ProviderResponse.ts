/**
 * Error response of a model's server, for operators: its headers and its body.
 *
 * Bodies may contain prompts and keys. So the body is stored outside the error: no printer of errors
 * (`Effect.logError`, `console.error`, `JSON.stringify`, `util.inspect`) shows it, and storing an error does not store
 * it. Headers that are not known to be safe are `Redacted`.
 */
import type * as AiError from "effect/ai/AiError"
import type * as Headers from "effect/http/Headers"
import * as Redacted from "effect/Redacted"

const key = Symbol.for("@recourse/core/ProviderResponse/body")

/** The longest body that is kept, in UTF-16 units. */
const maxLength = 16_384

/**
 * Returns the body of an error response, cut at 16,384 characters, without the secrets of the request's `Redaction`.
 *
 * ```ts
 * import { Redacted } from "effect"
 * import { AiError } from "effect/ai"
 * import { ProviderResponse, Redaction } from "@recourse/core"
 *
 * const { text } = Redaction.make()
 * const reason = ProviderResponse.keep(new AiError.UnknownError({ description: "HTTP 418" }), "{\"error\":\"teapot\"}", text)
 * const error = AiError.make({ module: "example", method: "generateText", reason })
 * JSON.stringify(error).includes("teapot") // => false
 *
 * const body = ProviderResponse.bodyOf(error)
 * body && Redacted.value(body) // => "{\"error\":\"teapot\"}"
 * ```
 *
 * @category getters
 * @since 0.2.0
 */
export const bodyOf = (error: AiError.AiError): Redacted.Redacted<string> | undefined =>
  (error.reason as { readonly [key]?: Redacted.Redacted<string> })[key]

/**
 * Attaches a body to the reason of an error; an attached one is not replaced. For providers.
 *
 * @category combinators
 * @since 0.2.0
 */
export const keep = <Reason extends AiError.AiErrorReason>(
  reason: Reason,
  body: string | undefined,
  scrub: (text: string) => string
): Reason =>
  body === undefined || body === "" || key in reason
    ? reason
    : Object.defineProperty(reason, key, {
      // Text across the cut is whole when secrets are searched.
      value: Redacted.make(scrub(body.slice(0, 2 * maxLength)).slice(0, maxLength), { label: "body" })
    })

/** Diagnostic headers that contain no part of a request. */
const shown: ReadonlySet<string> = new Set([
  "cf-ray",
  "content-length",
  "content-type",
  "date",
  "request-id",
  "retry-after",
  "retry-after-ms",
  "server",
  "x-request-id",
  "x-should-retry"
])

/**
 * The headers of an answer: known ones as they are unless `scrub` finds something in them, all others `Redacted`. For providers.
 *
 * @category getters
 * @since 0.2.0
 */
export const headers = (
  headers: Headers.Headers,
  scrub: (text: string) => string
): Record<string, string | Redacted.Redacted<string>> =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      (shown.has(name) || /^[a-z-]*ratelimit-[a-z-]+$/.test(name)) && value.length <= 128 && scrub(value) === value
        ? value
        : Redacted.make(value)
    ])
  )

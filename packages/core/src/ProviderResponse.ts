/**
 * What a model's server answered with an error, for operators: its headers and its body.
 *
 * Bodies hold whatever the server puts there, prompts and keys among it. So the body stands beside the error and not in it:
 * nothing that prints an error (`Effect.logError`, `console.error`, `JSON.stringify`, `util.inspect`) shows it, and storing
 * an error does not store it. Headers that nobody vouches for are `Redacted`.
 */
import type * as AiError from "effect/ai/AiError"
import type * as Headers from "effect/http/Headers"
import * as Redacted from "effect/Redacted"

const key = Symbol.for("@recourse/core/ProviderResponse/body")

/** The longest body that is kept, in UTF-16 units. */
const maxLength = 16_384

/**
 * The body that the server sent with an error, cut at 16,384 characters, without what the `Redaction` of the request knows.
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
 */
export const bodyOf = (error: AiError.AiError): Redacted.Redacted<string> | undefined =>
  (error.reason as { readonly [key]?: Redacted.Redacted<string> })[key]

/** Keeps a body beside the reason of an error; one that is kept already stays. For providers. */
export const keep = <Reason extends AiError.AiErrorReason>(
  reason: Reason,
  body: string | undefined,
  scrub: (text: string) => string
): Reason =>
  body === undefined || body === "" || key in reason
    ? reason
    : Object.defineProperty(reason, key, {
      // What stands across the cut is whole when it is looked for.
      value: Redacted.make(scrub(body.slice(0, 2 * maxLength)).slice(0, maxLength), { label: "body" })
    })

/** Headers that say what an operator looks for first, and hold nothing of a request. */
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

/** The headers of an answer: known ones as they are unless `scrub` finds something in them, all others `Redacted`. For providers. */
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

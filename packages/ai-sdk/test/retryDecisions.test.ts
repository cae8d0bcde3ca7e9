/**
 * Meaning of a server's answer, in tables: the status, code and header that end a call, and those that allow a retry.
 */

import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect } from "effect"
import { type AiError } from "effect/ai"
import { api, factsOf, failureOf, wordsOf } from "./support/apiFailures.ts"

const statusOf = ({ reason }: AiError.AiError): number | undefined =>
  "http" in reason ? reason.http?.response?.status : undefined

describe("statuses", () => {
  // Without advice of the package, with the advice to retry, and with the advice not to.
  const decisions: ReadonlyArray<readonly [ReadonlyArray<number>, string, string, string]> = [
    [[300, 301, 307, 308, 399], "InvalidRequest baseURL", "InvalidRequest baseURL", "InvalidRequest baseURL"],
    [[400, 404, 405, 410, 422, 424, 426, 499], "InvalidRequest", "InternalProvider again", "InvalidRequest"],
    [[413], "InvalidRequest prompt", "InternalProvider again", "InvalidRequest prompt"],
    [[401], "Authentication InvalidKey", "InternalProvider again", "Authentication InvalidKey"],
    [[402], "QuotaExhausted", "InternalProvider again", "QuotaExhausted"],
    [
      [403],
      "Authentication InsufficientPermissions",
      "InternalProvider again",
      "Authentication InsufficientPermissions"
    ],
    [[408, 409], "InternalProvider again", "InternalProvider again", "Unknown"],
    // The AI SDK does not know this one, and advises against retries of unknown ones.
    [[425], "InternalProvider again", "InternalProvider again", "InternalProvider again"],
    [[429], "RateLimit again", "RateLimit again", "QuotaExhausted"],
    [[500, 501, 502, 503, 504, 529, 599], "InternalProvider again", "InternalProvider again", "Unknown"]
  ]
  for (const [statuses, unsaid, may, mayNot] of decisions) {
    it.effect(`${statuses.join(", ")}: ${unsaid}`, () =>
      Effect.gen(function*() {
        for (const statusCode of statuses) {
          const cases: ReadonlyArray<readonly [unknown, string]> = [
            [{ statusCode }, unsaid],
            [{ statusCode, isRetryable: "no" }, unsaid],
            [{ statusCode, isRetryable: true }, may],
            [{ statusCode, isRetryable: false }, mayNot],
            [api({ statusCode }), unsaid],
            [api({ statusCode, isRetryable: true }), may],
            [api({ statusCode, isRetryable: false }), mayNot],
            // The server's own word goes before the package's.
            [api({ statusCode, isRetryable: false, responseHeaders: { "x-should-retry": "true" } }), may],
            [
              api({ statusCode, isRetryable: true, responseHeaders: { "x-should-retry": "false" } }),
              statusCode === 425 ? "Unknown" : mayNot
            ],
            [api({ statusCode, responseHeaders: { "x-should-retry": "perhaps" } }), unsaid]
          ]
          for (const [thrown, expected] of cases) {
            const error = yield* failureOf(thrown)
            assert.strictEqual(wordsOf(error), expected, `${statusCode}`)
            assert.strictEqual(statusOf(error), statusCode)
          }
        }
      }))
  }

  it.effect("classifies broken, off-protocol and unreachable answers", () =>
    Effect.gen(function*() {
      const connection = Object.assign(new Error("prose"), { code: "ECONNRESET" })
      const cases: ReadonlyArray<readonly [Parameters<typeof api>[0], string, string]> = [
        [{ statusCode: 200, cause: new Error("prose") }, "Network again", "The answer could not be read to its end"],
        [{ statusCode: 200, cause: connection }, "Network again", "ECONNRESET"],
        [{ statusCode: 200, isRetryable: true }, "Network again", "The answer could not be read to its end"],
        [{ statusCode: 200 }, "Unknown", "The provider reported an error without a known code"],
        [{ cause: connection }, "Network again", "ECONNRESET"],
        [{ isRetryable: true }, "Network again", "The provider was not reached"],
        [{ cause: new Error("prose") }, "Unknown", "The provider reported an error without a known code"],
        [{ isRetryable: false }, "Unknown", "The provider reported an error without a known code"]
      ]
      for (const [options, expected, description] of cases) {
        const error = yield* failureOf(api(options))
        assert.strictEqual(wordsOf(error), expected)
        assert.deepInclude(error.reason, { description })
      }
    }))
})

describe("waits", () => {
  it.effect("reads Google's delay in seconds, up to a year, first valid", () =>
    Effect.gen(function*() {
      const cases: ReadonlyArray<readonly [unknown, number | undefined]> = [
        ["34.07s", 34_070],
        ["0s", 0],
        ["7s", 7_000],
        ["0.0001s", 1],
        ["12.345s", 12_345],
        [`${"9".repeat(400)}s`, 365 * 24 * 60 * 60 * 1000],
        ["1.s", undefined],
        [".5s", undefined],
        ["-1s", undefined],
        ["1ss", undefined],
        ["1", undefined],
        ["x1s", undefined],
        ["1sx", undefined],
        [7, undefined],
        [undefined, undefined]
      ]
      for (const [retryDelay, expected] of cases) {
        for (const status of [429, 503]) {
          const error = yield* failureOf(
            api({ statusCode: status, data: { error: { details: [null, {}, { retryDelay }] } } })
          )
          assert.strictEqual(
            error.retryAfter === undefined ? undefined : Duration.toMillis(error.retryAfter),
            expected,
            `${String(retryDelay)}`
          )
        }
      }
      const details = [{ retryDelay: "soon" }, { retryDelay: "2s" }, { retryDelay: "3s" }]
      const data = { error: { details } }
      const fromBody = yield* failureOf(api({ statusCode: 429, data }))
      assert.deepStrictEqual(fromBody.retryAfter, Duration.seconds(2))
      assert.strictEqual(factsOf(fromBody)?.["retryAfterMillis"], 2_000)
      const fromHeader = yield* failureOf(api({ statusCode: 429, data, responseHeaders: { "retry-after": "9" } }))
      assert.deepStrictEqual(fromHeader.retryAfter, Duration.seconds(9))
      const odd = yield* failureOf(api({ statusCode: 429, data: { error: { details: { retryDelay: "2s" } } } }))
      assert.isUndefined(odd.retryAfter)
    }))
})

describe("connections", () => {
  it.effect("reads codes of system, undici, parser and TLS at any depth", () =>
    Effect.gen(function*() {
      const withCode = (code: unknown, cause?: unknown) => Object.assign(new Error("prose"), { code, cause })
      const cases: ReadonlyArray<readonly [unknown, string]> = [
        ...[
          "ECONNRESET",
          "EPIPE",
          "ETIMEDOUT",
          "ENOTFOUND",
          "EAI_AGAIN",
          "UND_ERR_HEADERS_TIMEOUT",
          "HPE_INVALID_TOKEN"
        ]
          .map((code) => [withCode(code), "Network again"] as const),
        [withCode("ERR_STREAM_PREMATURE_CLOSE"), "Network again"],
        [withCode("ERR_INVALID_URL"), "Network"],
        ...["ERR_ASSERTION", "xECONNRESET", "ECONNRESETx", "EIO", "E", "und_err_socket", 7, undefined]
          .map((code) => [withCode(code), "Unknown"] as const),
        [withCode(undefined, withCode(undefined, withCode("EPIPE"))), "Network again"],
        [{ cause: withCode("EPIPE") }, "Network again"],
        // A value that is no error is a server's text.
        [{ cause: { code: "EPIPE" } }, "Unknown"],
        [{ name: "AbortError" }, "Network again"],
        [{ name: "TimeoutError" }, "Network again"],
        [{ name: "Abort" }, "Unknown"]
      ]
      for (const [thrown, expected] of cases) {
        assert.strictEqual(wordsOf(yield* failureOf(thrown)), expected, JSON.stringify(thrown))
      }
      const circle: { name: string; cause?: unknown } = { name: "a" }
      circle.cause = { name: "b", cause: circle }
      assert.deepInclude((yield* failureOf(circle)).reason, { metadata: { aiSdk: { error: "object" } } })
    }))

  it.effect("names an address by origin and path, and no invalid URL", () =>
    Effect.gen(function*() {
      const cause = Object.assign(new Error("prose"), { code: "EPIPE" })
      for (
        const [url, shown] of [
          ["https://user:key@api.example:8443/v1?key=k#f", "https://api.example:8443/v1"],
          ["no url with key", ""]
        ] as const
      ) assert.deepInclude((yield* failureOf(api({ url, cause }))).reason, { url: shown, method: "POST" })
    }))
})

/**
 * Meaning of a server's answer, in tables: the status, code and header that end a call, and those that allow a retry.
 */
import {
  APICallError,
  InvalidArgumentError,
  InvalidPromptError,
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
import { assert, describe, it } from "@effect/vitest"
import { AiSdk } from "@recourse/ai-sdk"
import { ProviderResponse, Redaction } from "@recourse/core"
import { Duration, Effect, Redacted, Stream } from "effect"
import { type AiError, LanguageModel } from "effect/ai"
import { v4 } from "./support/models.ts"

const failureOf = (thrown: unknown): Effect.Effect<AiError.AiError> =>
  LanguageModel.generateText({ prompt: "Hi" }).pipe(
    Effect.matchEffect({ onFailure: Effect.succeed, onSuccess: () => Effect.die("it should have failed") }),
    Effect.provide(AiSdk.layer(v4({ fail: thrown }).model))
  )

const api = (options: Partial<ConstructorParameters<typeof APICallError>[0]>) =>
  new APICallError({ message: "prose", url: "https://api.example/v1", requestBodyValues: {}, ...options })

/** The tag of a reason, and its other fields that decide a program's reaction. */
const wordsOf = ({ isRetryable, reason }: AiError.AiError): string =>
  [
    reason._tag.replace(/Error$/, ""),
    ...(reason._tag === "AuthenticationError" ? [reason.kind] : []),
    ...(reason._tag === "InvalidRequestError" && reason.parameter !== undefined ? [reason.parameter] : []),
    ...(isRetryable ? ["again"] : [])
  ].join(" ")

const factsOf = ({ reason }: AiError.AiError): Readonly<Record<string, unknown>> | undefined =>
  "metadata" in reason ? reason.metadata["aiSdk"] as Readonly<Record<string, unknown>> : undefined

const statusOf = ({ reason }: AiError.AiError): number | undefined =>
  "http" in reason ? reason.http?.response?.status : undefined

describe("statuses", () => {
  // Without advice of the package, with the advice to retry, and with the advice not to.
  const decisions: ReadonlyArray<readonly [ReadonlyArray<number>, string, string, string]> = [
    [[300, 301, 307, 308, 399], "InvalidRequest baseURL", "InvalidRequest baseURL", "InvalidRequest baseURL"],
    [[400, 404, 405, 410, 413, 422, 424, 426, 499], "InvalidRequest", "InternalProvider again", "InvalidRequest"],
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

describe("codes", () => {
  const meanings: Readonly<Record<string, ReadonlyArray<string>>> = {
    "QuotaExhausted": [
      "insufficient_quota",
      "quota_exceeded",
      "exceeded_current_quota_error",
      "billing_error",
      "billing_not_active",
      "billing_hard_limit_reached"
    ],
    "Authentication InvalidKey": [
      "invalid_api_key",
      "API_KEY_INVALID",
      "authentication_error",
      "invalid_authentication_error",
      "UNAUTHENTICATED"
    ],
    "Authentication ExpiredKey": ["API_KEY_EXPIRED", "expired_api_key"],
    "Authentication MissingKey": ["missing_api_key"],
    "Authentication InsufficientPermissions": [
      "permission_error",
      "PERMISSION_DENIED",
      "account_deactivated",
      "unsupported_country_region_territory"
    ],
    "ContentPolicy": [
      "content_filter",
      "content_policy_violation",
      "ResponsibleAIPolicyViolation",
      "moderation_blocked"
    ],
    "InvalidRequest prompt": ["context_length_exceeded"],
    "InvalidRequest model": ["model_not_found"]
  }
  for (const [expected, codes] of Object.entries(meanings)) {
    it.effect(`${expected}, whatever the status: ${codes.join(", ")}`, () =>
      Effect.gen(function*() {
        for (const code of codes) {
          const answers = [
            api({ statusCode: 400, data: { error: { code } } }),
            api({ statusCode: 429, data: { error: { code: code.toUpperCase() } } }),
            api({ statusCode: 503, isRetryable: true, data: { error: { type: code.toLowerCase() } } }),
            { statusCode: 500, isRetryable: true, data: { response: { error: { status: code } } } },
            { type: "error", error: { code } },
            { code }
          ]
          for (const answer of answers) assert.strictEqual(wordsOf(yield* failureOf(answer)), expected, code)
        }
      }))
  }

  const statuses: Readonly<Record<string, ReadonlyArray<string>>> = {
    "InvalidRequest": [
      "invalid_request_error",
      "INVALID_ARGUMENT",
      "FAILED_PRECONDITION",
      "OUT_OF_RANGE",
      "NOT_FOUND",
      "not_found_error",
      "request_too_large"
    ],
    "RateLimit again": ["rate_limit_error", "rate_limit_exceeded", "RESOURCE_EXHAUSTED", "too_many_requests"],
    "InternalProvider again": [
      "ABORTED",
      "api_error",
      "INTERNAL",
      "internal_error",
      "internal_server_error",
      "server_error",
      "service_unavailable",
      "UNAVAILABLE",
      "DEADLINE_EXCEEDED",
      "timeout_error",
      "overloaded_error"
    ]
  }
  for (const [expected, codes] of Object.entries(statuses)) {
    it.effect(`${expected}, without a status of an error: ${codes.join(", ")}`, () =>
      Effect.gen(function*() {
        for (const code of codes) {
          const answers = [
            { type: "error", error: { type: code.toLowerCase() } },
            { code: code.toUpperCase() },
            // In a stream that began with 200 the AI SDK says of it that it may not be sent again: it has no status of its own.
            api({ statusCode: 200, data: { error: { code } } })
          ]
          for (const answer of answers) assert.strictEqual(wordsOf(yield* failureOf(answer)), expected, code)
          // A status of an error that came goes first.
          const came = yield* failureOf(api({ statusCode: 400, data: { error: { code } } }))
          assert.strictEqual(wordsOf(came), "InvalidRequest", code)
        }
      }))
  }

  it.effect("a code that is a status counts as one; others do not", () =>
    Effect.gen(function*() {
      const cases: ReadonlyArray<readonly [string | number, string]> = [
        [400, "InvalidRequest"],
        ["429", "RateLimit again"],
        [599, "InternalProvider again"],
        [399, "Unknown"],
        [600, "Unknown"],
        [450.5, "Unknown"],
        ["", "Unknown"],
        ["nobody_knows", "Unknown"]
      ]
      for (const [code, expected] of cases) {
        assert.strictEqual(wordsOf(yield* failureOf({ error: { code } })), expected, `${code}`)
      }
      assert.strictEqual(wordsOf(yield* failureOf({ error: { code: 399, status: 503 } })), "InternalProvider again")
    }))

  it.effect("a retryable answer stays retryable for any code", () =>
    Effect.gen(function*() {
      const data = { error: { code: "invalid_request_error" } }
      for (const status of [{}, { statusCode: 200 }, { statusCode: 400 }]) {
        assert.strictEqual(
          wordsOf(yield* failureOf(api({ ...status, data, isRetryable: true }))),
          "InternalProvider again"
        )
      }
    }))

  it.effect("prefers the most specific code, in any of a provider's fields", () =>
    Effect.gen(function*() {
      const none = { code: "x", status: "x", type: "x" }
      const inOrder: ReadonlyArray<Readonly<Record<string, unknown>>> = [
        { innererror: { code: "content_filter" } },
        { details: { error_code: "insufficient_quota" } },
        { code: "invalid_api_key" },
        { status: "permission_denied" },
        { type: "context_length_exceeded" }
      ]
      const meant = [
        "ContentPolicy",
        "QuotaExhausted",
        "Authentication InvalidKey",
        "Authentication InsufficientPermissions",
        "InvalidRequest prompt"
      ]
      for (const [index, expected] of meant.entries()) {
        const error = Object.assign({}, none, ...inOrder.slice(index))
        assert.strictEqual(wordsOf(yield* failureOf(api({ statusCode: 400, data: { error } }))), expected)
      }
      // Google's details are a list, of which some have a reason.
      const details = [null, "text", { reason: 7 }, { reason: "API_KEY_INVALID" }, { reason: "insufficient_quota" }]
      assert.strictEqual(
        wordsOf(yield* failureOf(api({ statusCode: 400, data: { error: { code: "content_filter", details } } }))),
        "Authentication InvalidKey"
      )
      const odd = { innererror: null, details: 7, code: ["insufficient_quota"], status: {}, type: true }
      for (
        const data of [{ error: odd }, odd, { error: [odd] }, { response: null }, { response: { error: 1 } }, [odd]]
      ) {
        assert.strictEqual(wordsOf(yield* failureOf(api({ statusCode: 400, data }))), "InvalidRequest")
      }
    }))

  it.effect("marks exceeded lengths; also reads a body without text", () =>
    Effect.gen(function*() {
      const body = { error: { code: "context_length_exceeded" } }
      for (const responseBody of [JSON.stringify(body), body as never]) {
        const facts = factsOf(yield* failureOf(api({ statusCode: 400, responseBody })))
        assert.strictEqual(facts?.["kind"], "context-length")
      }
      // A server's prose is not parsed: a compaction is tried once.
      const prose = factsOf(yield* failureOf(api({ statusCode: 400, responseBody: "no JSON" })))
      assert.strictEqual(prose?.["kind"], "unexplained")
    }))

  it.effect("shows only texts like codes, because providers write keys there", () =>
    Effect.gen(function*() {
      const word = "a".repeat(40)
      const shown = ["some_code", "a.b_c", "503", word, Array(9).fill(word).join("_")]
      const hidden = ["", "sk_4a", `${word}a`, "12", "1234", "a__b", "_a", "a b", "a\nb", Array(10).fill("a").join(".")]
      for (const code of [...shown, ...hidden]) {
        const facts = factsOf(yield* failureOf({ name: code, code, param: code }))
        assert.deepStrictEqual(
          facts,
          shown.includes(code) ? { error: code, codes: [code], param: code } : { error: "error", codes: [] },
          code
        )
      }
      const redactor = { ...Redaction.make(), text: (text: string) => text.replaceAll("inner", "[X]") }
      const error = yield* failureOf(api({ statusCode: 400, data: { error: { code: "inner_name", type: "x" } } }))
        .pipe(
          Effect.provideService(Redaction.Redaction, redactor)
        )
      assert.deepStrictEqual(factsOf(error)?.["codes"], ["x"])
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

describe("errors of the AI SDK", () => {
  it.effect("name the fault in their own words", () =>
    Effect.gen(function*() {
      const message = "prose"
      const cases: ReadonlyArray<readonly [unknown, Readonly<Record<string, unknown>>]> = [
        [new LoadAPIKeyError({ message: "Set EXAMPLE_API_KEY" }), {
          kind: "MissingKey",
          description: "Set EXAMPLE_API_KEY"
        }],
        [new LoadSettingError({ message: "Set EXAMPLE_REGION" }), { description: "Set EXAMPLE_REGION" }],
        [new NoSuchModelError({ modelId: "m-1", modelType: "languageModel" }), {
          parameter: "model",
          constraint: "must name a model of the provider",
          description: "There is no languageModel \"m-1\""
        }],
        [new UnsupportedFunctionalityError({ functionality: "audio" }), {
          description: "The provider package does not support: audio"
        }],
        [new InvalidPromptError({ prompt: "secret", message }), {
          parameter: "prompt",
          constraint: "was refused by the provider package"
        }],
        [new InvalidArgumentError({ argument: "seed", message }), {
          parameter: "seed",
          constraint: "was refused by the provider package"
        }],
        [
          new TooManyEmbeddingValuesForCallError({ provider: "p", modelId: "m", maxEmbeddingsPerCall: 2, values: [] }),
          { parameter: "values", constraint: "must hold at most 2 values" }
        ],
        [new NoSuchProviderReferenceError({ provider: "p", reference: {} }), {
          parameter: "file",
          constraint: "has no reference for the provider \"p\""
        }],
        [new NoContentGeneratedError({ message }), { description: "The model generated no content" }],
        [new JSONParseError({ text: "secret", cause: new Error(message) }), {
          description: "The provider's answer does not follow its protocol",
          metadata: { aiSdk: { error: "AI_JSONParseError" } }
        }],
        [new DOMException(message, "AbortError"), {
          description: "The request was aborted before it was answered",
          url: ""
        }],
        [new RangeError(message), {
          description: "The provider package failed for a reason it does not classify",
          metadata: { aiSdk: { error: "RangeError" } }
        }],
        ["secret", {
          description: "The provider package failed for a reason it does not classify",
          metadata: { aiSdk: { error: "string" } }
        }],
        [
          {
            get statusCode() {
              throw new Error(message)
            }
          },
          { description: "The provider package failed with a value that cannot be read" }
        ],
        [undefined, { metadata: { aiSdk: { error: "undefined" } } }],
        [api({ statusCode: 400 }), {
          metadata: { aiSdk: { error: "AI_APICallError", codes: [], kind: "unexplained" } }
        }]
      ]
      for (const [thrown, expected] of cases) assert.deepInclude((yield* failureOf(thrown)).reason, expected)
    }))

  it.effect("are decoded by status or code if they only look alike", () =>
    Effect.gen(function*() {
      class Gateway extends Error {
        override readonly name = "GatewayError"
        readonly statusCode: unknown
        readonly type: unknown
        constructor(statusCode: unknown, type?: unknown) {
          super("prose")
          this.statusCode = statusCode
          this.type = type
        }
      }
      const unclassified = "The provider package failed for a reason it does not classify"
      const cases: ReadonlyArray<readonly [unknown, string, string | undefined]> = [
        [new Gateway(401), "Authentication InvalidKey", "GatewayError"],
        [new Gateway(undefined, "rate_limit_exceeded"), "RateLimit again", "GatewayError"],
        [{ statusCode: 401 }, "Authentication InvalidKey", "error"],
        [{ name: 7, statusCode: 401 }, "Authentication InvalidKey", "error"],
        [new Gateway("401"), "Unknown", "GatewayError"],
        [new Gateway(401.5), "Unknown", "GatewayError"],
        [{ statusCode: 401, data: { error: { code: "insufficient_quota" } } }, "QuotaExhausted", "error"]
      ]
      for (const [thrown, expected, name] of cases) {
        const error = yield* failureOf(thrown)
        assert.strictEqual(wordsOf(error), expected)
        assert.strictEqual(factsOf(error)?.["error"], name)
        const description = "description" in error.reason ? error.reason.description : undefined
        assert.strictEqual(description === unclassified, expected === "Unknown")
      }
    }))

  it.effect("have codes only in the servers' error fields", () =>
    Effect.gen(function*() {
      const cases: ReadonlyArray<readonly [unknown, string]> = [
        [{ error: { code: "rate_limit_exceeded" } }, "RateLimit again"],
        // A part of an answer may have a type or a code, too.
        [{ type: "server_error", code: 503 }, "InvalidResponse"],
        [{ error: "server_error", code: 503 }, "InvalidResponse"],
        [{ error: {} }, "InvalidResponse"],
        [undefined, "InvalidResponse"]
      ]
      for (const [value, expected] of cases) {
        assert.strictEqual(wordsOf(yield* failureOf(new TypeValidationError({ value, cause: "prose" }))), expected)
      }
    }))

  it.effect("attach the body for operators: text, or its JSON", () =>
    Effect.gen(function*() {
      const cases: ReadonlyArray<readonly [unknown, string | undefined]> = [
        [api({ statusCode: 400, responseBody: "text", data: { error: { code: "x" } } }), "text"],
        [api({ statusCode: 400, responseBody: { a: 1 } as never }), "{\"a\":1}"],
        [api({ statusCode: 400, data: { error: { code: "x" } } }), "{\"error\":{\"code\":\"x\"}}"],
        [api({ statusCode: 400 }), undefined],
        [new RangeError("prose"), "prose"],
        ["prose", undefined]
      ]
      for (const [thrown, expected] of cases) {
        const body = ProviderResponse.bodyOf(yield* failureOf(thrown))
        assert.strictEqual(body === undefined ? undefined : Redacted.value(body), expected)
      }
    }))

  it.effect("an answer that ends before its end is a broken connection", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(
        Stream.runDrain(LanguageModel.streamText({ prompt: "Hi" })).pipe(
          Effect.provide(AiSdk.layer(v4({ stream: [{ type: "text-start", id: "t" }] }).model))
        )
      )
      assert.strictEqual(wordsOf(error), "Network again")
      assert.deepInclude(error.reason, {
        description: "The answer ended before the provider marked it as complete",
        url: ""
      })
    }))
})

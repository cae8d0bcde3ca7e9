import {
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
import { assert, describe, it } from "@effect/vitest"
import { AiSdk } from "@recourse/ai-sdk"
import { ProviderResponse } from "@recourse/core"
import { Cause, Duration, Effect, Redacted, Schema, Stream } from "effect"
import { AiError, LanguageModel } from "effect/ai"
import { TestClock } from "effect/testing"
import { v4 } from "./support/models.ts"

const secret = "sk-very-secret"
const url = `https://user:${secret}@api.example/v1/chat?key=${secret}`

/** The failure that a provider package's error becomes, checked for leaks; the same for a call and for a stream part. */
const failureOf = Effect.fnUntraced(function*(thrown: unknown) {
  const calls = [
    LanguageModel.generateText({ prompt: "Hi" }).pipe(Effect.provide(AiSdk.layer(v4({ fail: thrown }).model))),
    LanguageModel.streamText({ prompt: "Hi" }).pipe(
      Stream.runDrain,
      Effect.provide(AiSdk.layer(v4({ fail: thrown }).model))
    ),
    LanguageModel.streamText({ prompt: "Hi" }).pipe(
      Stream.runDrain,
      Effect.provide(AiSdk.layer(v4({ stream: [{ type: "error", error: thrown }] }).model))
    )
  ]
  const errors = yield* Effect.forEach(calls, (call) => Effect.flip(Effect.asVoid(call)))
  for (const error of errors) {
    assert.strictEqual(error.reason._tag, errors[0]!.reason._tag)
    assert.strictEqual(error.isRetryable, errors[0]!.isRetryable)
    for (const text of [error.message, String(error), Cause.pretty(Cause.fail(error))]) assert.notInclude(text, secret)
  }
  return errors[0]!
})

const api = (options: Partial<ConstructorParameters<typeof APICallError>[0]>) =>
  new APICallError({ message: `prose with ${secret}`, url, requestBodyValues: { secret }, ...options })

const code = (code: string) => ({ error: { message: secret, type: "some_error", code } })

const withCause = (error: Error, cause: unknown) => Object.assign(error, { cause })
const systemError = (code: string) => Object.assign(new Error(secret), { code })

describe("errors of the AI SDK by their class", () => {
  const unreadable = "InvalidResponseError"
  const cases: ReadonlyArray<readonly [unknown, string, boolean]> = [
    [
      new LoadAPIKeyError({ message: "Pass it using the EXAMPLE_API_KEY environment variable" }),
      "AuthenticationError",
      false
    ],
    [new LoadSettingError({ message: "Set EXAMPLE_REGION" }), "InvalidRequestError", false],
    [new NoSuchModelError({ modelId: "m", modelType: "languageModel" }), "InvalidRequestError", false],
    [new UnsupportedFunctionalityError({ functionality: "audio" }), "InvalidRequestError", false],
    [new InvalidPromptError({ prompt: secret, message: secret }), "InvalidRequestError", false],
    [new InvalidArgumentError({ argument: "seed", message: secret }), "InvalidRequestError", false],
    [
      new TooManyEmbeddingValuesForCallError({
        provider: "p",
        modelId: "m",
        maxEmbeddingsPerCall: 2,
        values: [secret]
      }),
      "InvalidRequestError",
      false
    ],
    [new NoSuchProviderReferenceError({ provider: "p", reference: { q: secret } }), "InvalidRequestError", false],
    [new NoContentGeneratedError({ message: secret }), "InvalidOutputError", true],
    [new TypeValidationError({ value: { secret }, cause: new Error(secret) }), unreadable, false],
    [new JSONParseError({ text: secret, cause: new Error(secret) }), unreadable, false],
    [new InvalidResponseDataError({ data: { secret } }), unreadable, false],
    [new EmptyResponseBodyError({ message: secret }), unreadable, false],
    [new TypeError(secret), "UnknownError", false],
    [secret, "UnknownError", false],
    [undefined, "UnknownError", false],
    [null, "UnknownError", false],
    [{}, "UnknownError", false],
    [new DOMException(secret, "AbortError"), "NetworkError", true],
    [new DOMException(secret, "TimeoutError"), "NetworkError", true],
    [withCause(new TypeError(secret), systemError("UND_ERR_SOCKET")), "NetworkError", true],
    [systemError("ECONNRESET"), "NetworkError", true],
    [withCause(new TypeError(secret), systemError("ERR_INVALID_URL")), "NetworkError", false],
    [systemError("ERR_ASSERTION"), "UnknownError", false],
    [new AiError.ContentPolicyError({ description: "own" }), "ContentPolicyError", false]
  ]
  for (const [thrown, tag, retryable] of cases) {
    const name = thrown instanceof Error ? `${thrown.name}${"code" in thrown ? ` ${thrown.code}` : ""}` : String(thrown)
    it.effect(`${name} is ${tag}`, () =>
      Effect.gen(function*() {
        const error = yield* failureOf(thrown)
        assert.strictEqual(error.reason._tag, tag)
        assert.strictEqual(error.isRetryable, retryable)
        assert.strictEqual(error.module, "AiSdk")
      }))
  }

  it.effect("an AiError is passed on as it is", () =>
    Effect.gen(function*() {
      const own = AiError.make({
        module: "M",
        method: "m",
        reason: new AiError.ContentPolicyError({ description: "x" })
      })
      assert.strictEqual(yield* failureOf(own), own)
    }))

  it.effect("a missing key has advice", () =>
    Effect.gen(function*() {
      const error = yield* failureOf(new LoadAPIKeyError({ message: "Set EXAMPLE_API_KEY" }))
      assert.deepInclude(error.reason, { kind: "MissingKey" })
      assert.include(error.message, "EXAMPLE_API_KEY")
    }))

  it.effect("recognises the class by its mark, also from another package copy", () =>
    Effect.gen(function*() {
      const foreign = Object.assign(new Error(secret), {
        [Symbol.for("vercel.ai.error")]: true,
        [Symbol.for("vercel.ai.error.AI_JSONParseError")]: true,
        text: secret
      })
      assert.strictEqual((yield* failureOf(foreign)).reason._tag, "InvalidResponseError")
      const named = Object.assign(new Error(secret), { name: "AI_JSONParseError" })
      assert.strictEqual((yield* failureOf(named)).reason._tag, "UnknownError")
    }))
})

describe("answers of the server", () => {
  const cases: ReadonlyArray<readonly [string, Parameters<typeof api>[0], string, boolean]> = [
    ["400", { statusCode: 400 }, "InvalidRequestError", false],
    ["401", { statusCode: 401 }, "AuthenticationError", false],
    ["402", { statusCode: 402 }, "QuotaExhaustedError", false],
    ["403", { statusCode: 403 }, "AuthenticationError", false],
    ["404", { statusCode: 404 }, "InvalidRequestError", false],
    ["413", { statusCode: 413 }, "InvalidRequestError", false],
    ["408", { statusCode: 408 }, "InternalProviderError", true],
    ["409", { statusCode: 409 }, "InternalProviderError", true],
    ["425", { statusCode: 425 }, "InternalProviderError", true],
    ["429", { statusCode: 429 }, "RateLimitError", true],
    ["500", { statusCode: 500 }, "InternalProviderError", true],
    ["529", { statusCode: 529 }, "InternalProviderError", true],
    ["500, not retryable", { statusCode: 500, isRetryable: false }, "UnknownError", false],
    ["429, not retryable", { statusCode: 429, isRetryable: false }, "QuotaExhaustedError", false],
    ["400, retryable", { statusCode: 400, isRetryable: true }, "InternalProviderError", true],
    [
      "500, x-should-retry: false",
      { statusCode: 500, responseHeaders: { "x-should-retry": "false" } },
      "UnknownError",
      false
    ],
    [
      "400, x-should-retry: true",
      { statusCode: 400, responseHeaders: { "x-should-retry": "true" } },
      "InternalProviderError",
      true
    ],
    ["a code of quota", { statusCode: 429, data: code("insufficient_quota") }, "QuotaExhaustedError", false],
    ["a code of content", { statusCode: 400, data: code("content_filter") }, "ContentPolicyError", false],
    [
      "Azure's inner code",
      { statusCode: 400, data: { error: { code: "x", innererror: { code: "ResponsibleAIPolicyViolation" } } } },
      "ContentPolicyError",
      false
    ],
    ["a code of length", { statusCode: 400, data: code("context_length_exceeded") }, "InvalidRequestError", false],
    ["a code of model", { statusCode: 404, data: code("model_not_found") }, "InvalidRequestError", false],
    [
      "a code in a body of another shape",
      { statusCode: 400, responseBody: JSON.stringify(code("invalid_api_key")) },
      "AuthenticationError",
      false
    ],
    [
      "a type without a code",
      { statusCode: 400, data: { error: { type: "permission_error" } } },
      "AuthenticationError",
      false
    ],
    [
      "prose that names a code",
      { statusCode: 400, data: { error: { message: "insufficient_quota" } } },
      "InvalidRequestError",
      false
    ],
    ["no status", { isRetryable: true, cause: systemError("ECONNREFUSED") }, "NetworkError", true],
    ["no status and no cause", {}, "UnknownError", false],
    ["200, cut", { statusCode: 200, cause: new TypeError("terminated") }, "NetworkError", true],
    [
      "200, off the protocol",
      { statusCode: 200, cause: new JSONParseError({ text: secret, cause: secret }) },
      "InvalidResponseError",
      false
    ],
    [
      "200 with a status in its error",
      { statusCode: 200, data: { error: { code: 503 } } },
      "InternalProviderError",
      true
    ],
    ["no integer as status", { statusCode: 499.5 }, "UnknownError", false]
  ]
  for (const [name, options, tag, retryable] of cases) {
    it.effect(`${name}: ${tag}`, () =>
      Effect.gen(function*() {
        const error = yield* failureOf(api(options))
        assert.strictEqual(error.reason._tag, tag)
        assert.strictEqual(error.isRetryable, retryable)
      }))
  }

  const streamed: ReadonlyArray<readonly [unknown, string]> = [
    [{ type: "overloaded_error", message: secret }, "InternalProviderError"],
    [{ type: "rate_limit_error", message: secret }, "RateLimitError"],
    [{ type: "invalid_request_error", message: secret }, "InvalidRequestError"],
    [{ message: secret, statusCode: 503, isRetryable: true, data: {} }, "InternalProviderError"],
    [{ code: 429, status: "RESOURCE_EXHAUSTED", message: secret }, "RateLimitError"],
    [{ code: "nobody_knows", message: secret }, "UnknownError"],
    [
      new TypeValidationError({ value: { error: { status: "UNAVAILABLE", message: secret } }, cause: secret }),
      "InternalProviderError"
    ],
    [Object.assign(new Error(secret), { name: "GatewayError", statusCode: 401, type: "x" }), "AuthenticationError"]
  ]
  for (const [thrown, tag] of streamed) {
    it.effect(`without a class of the SDK: ${tag}`, () =>
      Effect.gen(function*() {
        assert.strictEqual((yield* failureOf(thrown)).reason._tag, tag)
      }))
  }

  it.effect("length and model errors name the fault", () =>
    Effect.gen(function*() {
      const tooLong = yield* failureOf(api({ statusCode: 400, data: code("context_length_exceeded") }))
      assert.deepInclude(tooLong.reason, { parameter: "prompt" })
      const unknown = yield* failureOf(api({ statusCode: 404, data: code("model_not_found") }))
      assert.deepInclude(unknown.reason, { parameter: "model" })
    }))

  it.effect("the operator gets status, headers, body, codes; names of secrets are redacted", () =>
    Effect.gen(function*() {
      const error = yield* failureOf(api({
        statusCode: 400,
        responseHeaders: { "x-request-id": "req_1", "set-cookie": secret },
        responseBody: "x".repeat(20_000),
        data: { error: { code: "some_code", type: "some_type", param: "messages" } }
      }))
      const reason = error.reason
      assert.strictEqual(reason._tag, "InvalidRequestError")
      if (reason._tag !== "InvalidRequestError") return
      assert.strictEqual(reason.http?.response?.status, 400)
      assert.strictEqual(reason.http?.response?.headers["x-request-id"], "req_1")
      assert.isTrue(Redacted.isRedacted(reason.http?.response?.headers["set-cookie"]))
      assert.isUndefined(reason.http?.body)
      assert.lengthOf(Redacted.value(ProviderResponse.bodyOf(error)!), 16_384)
      assert.deepStrictEqual(reason.metadata["aiSdk"], {
        error: "AI_APICallError",
        kind: "unexplained",
        codes: ["some_code", "some_type"],
        param: "messages"
      })
      // it survives being stored
      const codec = Schema.toCodecJson(AiError.AiError)
      const stored = yield* Schema.encodeEffect(codec)(yield* failureOf(api({ statusCode: 503 })))
      assert.strictEqual((yield* Schema.decodeEffect(codec)(stored)).reason._tag, "InternalProviderError")
    }))

  it.effect("a network error names the place without user, password, or query", () =>
    Effect.gen(function*() {
      const error = yield* failureOf(api({ isRetryable: true, cause: systemError("ECONNREFUSED") }))
      assert.deepInclude(error.reason, { url: "https://api.example/v1/chat", description: "ECONNREFUSED" })
    }))

  it.effect("causes in a circle end", () =>
    Effect.gen(function*() {
      const first = new Error("a")
      withCause(first, withCause(new Error("b"), first))
      assert.strictEqual((yield* failureOf(first)).reason._tag, "UnknownError")
    }))
})

describe("retry-after", () => {
  const now = Date.parse("2026-01-02T03:04:05Z")
  const cases: ReadonlyArray<readonly [Record<string, string>, Duration.Duration | undefined]> = [
    [{ "retry-after-ms": "1500" }, Duration.millis(1500)],
    [{ "Retry-After-Ms": "1500", "Retry-After": "60" }, Duration.millis(1500)],
    [{ "retry-after-ms": "soon", "retry-after": "60" }, Duration.seconds(60)],
    [{ "retry-after": "60" }, Duration.seconds(60)],
    [{ "retry-after": "1.25" }, Duration.millis(1250)],
    [{ "retry-after": "0" }, Duration.zero],
    [{ "retry-after": "Fri, 02 Jan 2026 03:05:05 GMT" }, Duration.seconds(60)],
    [{ "retry-after": "Fri, 02 Jan 2026 03:00:00 GMT" }, Duration.zero],
    [{ "retry-after": "-1" }, undefined],
    [{ "retry-after": "later" }, undefined],
    [{}, undefined]
  ]
  for (const [responseHeaders, expected] of cases) {
    it.effect(JSON.stringify(responseHeaders), () =>
      Effect.gen(function*() {
        yield* TestClock.setTime(now)
        for (const statusCode of [429, 503, 529]) {
          const error = yield* failureOf(api({ statusCode, responseHeaders }))
          assert.deepStrictEqual(
            error.retryAfter === undefined ? undefined : Duration.toMillis(error.retryAfter),
            expected === undefined ? undefined : Duration.toMillis(expected)
          )
        }
      }))
  }

  it.effect("Google says it in the body", () =>
    Effect.gen(function*() {
      const details = [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "34.07s" }]
      const error = yield* failureOf(
        api({ statusCode: 429, data: { error: { code: 429, status: "RESOURCE_EXHAUSTED", details } } })
      )
      assert.deepStrictEqual(error.retryAfter, Duration.millis(34_070))
    }))
})

/** Classification of a failed answer: its reason, and the attached facts, for all of a server's code fields. */
import { assert, describe, it } from "@effect/vitest"
import { OpenAiCompatible } from "@recourse/openai-compatible"
import { Duration, Effect, Layer, Redacted } from "effect"
import type { AiError } from "effect/ai"
import { HttpClient, HttpClientResponse } from "effect/http"
import { generate, ids, key, observe, stream } from "../support/harness.ts"

interface Reply {
  readonly status: number
  readonly body: unknown
  readonly headers?: Readonly<Record<string, string>>
}

const clientOf = ({ body, headers = {}, status }: Reply, type: string) =>
  HttpClient.make((request) =>
    Effect.sync(() =>
      HttpClientResponse.fromWeb(
        request,
        new Response(typeof body === "string" ? body : JSON.stringify(body), {
          status,
          headers: { "content-type": type, ...headers }
        })
      )
    )
  )

const layerOf = (client: HttpClient.HttpClient, options: Partial<OpenAiCompatible.Options> = {}) =>
  OpenAiCompatible.layer({
    baseUrl: "http://host/v1",
    model: "m",
    apiKey: Redacted.make(key),
    retry: false,
    ...options
  }).pipe(Layer.provide([Layer.succeed(HttpClient.HttpClient, client), ids]))

const reasonOf = (reply: Reply, options?: Partial<OpenAiCompatible.Options>) =>
  Effect.flip(Effect.asVoid(generate())).pipe(
    Effect.map((error) => (error as AiError.AiError).reason),
    Effect.provide(layerOf(clientOf(reply, "application/json"), options))
  )

const factsOf = (reason: AiError.AiErrorReason) => {
  const { metadata } = reason as { readonly metadata?: { readonly openaiCompatible?: Record<string, unknown> } }

  return { ...metadata?.openaiCompatible }
}

const tagOf = (reason: AiError.AiErrorReason): string =>
  "kind" in reason ? `${reason._tag} ${reason.kind}` : "parameter" in reason && reason.parameter !== undefined
    ? `${reason._tag} ${reason.parameter}`
    : reason._tag

const quota = "QuotaExhaustedError"
const rate = "RateLimitError"
const down = "InternalProviderError"
const bad = "InvalidRequestError"

describe("a failed answer", () => {
  const statuses: Readonly<Record<number, string>> = {
    302: "InvalidRequestError baseUrl",
    400: bad,
    401: "AuthenticationError InvalidKey",
    402: quota,
    403: "AuthenticationError InsufficientPermissions",
    404: "InvalidRequestError model",
    408: down,
    409: down,
    413: "InvalidRequestError messages",
    418: bad,
    422: bad,
    425: down,
    429: rate,
    500: down,
    503: down
  }
  for (const [status, expected] of Object.entries(statuses)) {
    it.effect(`with ${status} and no code is ${expected}`, () =>
      Effect.gen(function*() {
        const reason = yield* reasonOf({ status: Number(status), body: {} })
        assert.strictEqual(tagOf(reason), expected)
        assert.deepStrictEqual(factsOf(reason), {
          status: Number(status),
          ...(status === "400" || status === "422" ? { kind: "unexplained" } : undefined),
          ...(status === "413" ? { kind: "context-length" } : undefined)
        })
      }))
  }

  const kinds = {
    InvalidKey: [
      "invalid_api_key",
      "incorrect_api_key_error",
      "invalid_authentication_error",
      "authentication_error",
      "api_key_invalid",
      "unauthenticated",
      "unauthorized"
    ],
    ExpiredKey: ["expired_api_key", "api_key_expired", "token_expired"],
    MissingKey: ["missing_api_key"],
    InsufficientPermissions: [
      "permission_denied",
      "permission_error",
      "insufficient_permissions",
      "access_denied",
      "unsupported_country_region_territory"
    ]
  }
  const codes: ReadonlyArray<readonly [status: number, error: unknown, expected: string]> = [
    [429, { error: { code: "insufficient_quota" } }, quota],
    [400, { error: { type: "insufficient_quota" } }, quota],
    [400, { error: { code: "INSUFFICIENT_QUOTA" } }, quota],
    [400, { error: { status: "insufficient_quota" } }, quota],
    [400, { error: { innererror: { code: "insufficient_quota" } } }, quota],
    [400, { error: { inner_error: { type: "insufficient_quota" } } }, quota],
    [400, { error: { error: { code: "insufficient_quota" } } }, quota],
    [400, { error: { details: [{}, { reason: "insufficient_quota" }] } }, quota],
    [400, [{ error: { code: "insufficient_quota" } }], quota],
    [400, { code: "insufficient_quota" }, quota],
    [400, { error: null, object: "error", code: "insufficient_quota" }, quota],
    [400, { error: false, type: "error", code: "insufficient_quota" }, quota],
    [400, { error: "insufficient_quota" }, bad],
    [400, [], bad],
    [400, "no json", bad],
    [400, { error: { code: "billing_error" } }, quota],
    [400, { error: { type: "budget_exceeded", code: "400" } }, quota],
    [400, { code: "Arrearage", message: "x" }, quota],
    [400, { code: "DataInspectionFailed", message: "x" }, "ContentPolicyError"],
    [200, { code: "InvalidParameter", message: "x", request_id: "r" }, bad],
    [400, { error: { code: "account_deactivated" } }, "AuthenticationError InsufficientPermissions"],
    [400, { error: { code: "content_filter" } }, "ContentPolicyError"],
    [403, { error: { metadata: { reasons: ["violence"] } } }, "ContentPolicyError"],
    [400, { error: { metadata: { reasons: ["violence"] } } }, bad],
    [400, { error: { code: "context_length_exceeded" } }, "InvalidRequestError messages"],
    [400, { error: { code: "expired_api_key" } }, "AuthenticationError ExpiredKey"],
    [400, { error: { code: "permission_denied" } }, "AuthenticationError InsufficientPermissions"],
    [400, { error: { code: "model_not_found" } }, "InvalidRequestError model"],
    [400, { error: { code: "tool_use_failed" } }, "InvalidOutputError"],
    [400, { error: { code: "overloaded_error" } }, down],
    [500, { error: { type: "rate_limit_error" } }, rate],
    [400, { error: { code: 400, param: "top_p" } }, "InvalidRequestError top_p"],
    ...Object.entries(kinds).flatMap(([kind, codes]) =>
      codes.map((code) => [500, { error: { code } }, `AuthenticationError ${kind}`] as const)
    )
  ]
  for (const [status, body, expected] of codes) {
    it.effect(`${status} ${JSON.stringify(body)} is ${expected}`, () =>
      Effect.gen(function*() {
        assert.strictEqual(tagOf(yield* reasonOf({ status, body })), expected)
      }))
  }

  it.effect("has its codes, request and wait attached, if they are names", () =>
    Effect.gen(function*() {
      const body = { error: { code: "slow_down", type: "limits", param: "messages[0].content" } }
      const reason = yield* reasonOf({ status: 429, body, headers: { "x-request-id": "req_1", "retry-after": "3" } })
      assert.deepStrictEqual(factsOf(reason), {
        status: 429,
        code: "slow_down",
        type: "limits",
        param: "messages[0].content",
        requestId: "req_1",
        retryAfterMillis: 3000
      })
      assert.deepStrictEqual(factsOf(yield* reasonOf({ status: 400, body: { error: { code: 7, type: "" } } })), {
        status: 400,
        code: "7",
        kind: "unexplained"
      })
      assert.deepStrictEqual(factsOf(yield* reasonOf({ status: 400, body: { error: { type: "limits" } } })), {
        status: 400,
        type: "limits",
        kind: "unexplained"
      })
      // vLLM names the length of the prompt.
      const length = { error: { code: 400, type: "BadRequestError", param: "input_tokens" } }
      assert.strictEqual(factsOf(yield* reasonOf({ status: 400, body: length }))["kind"], "unexplained")
      // Servers report the length of a prompt with 422, too, or in a stream that has started.
      for (const code of [400, 422]) {
        assert.strictEqual(factsOf(yield* reasonOf({ status: 200, body: { error: { code } } }))["kind"], "unexplained")
        const ofField = { status: code, body: { error: { param: "temperature" } } }
        assert.isUndefined(factsOf(yield* reasonOf(ofField))["kind"])
      }
      const odd = { error: { code: "two words", type: "x".repeat(65), param: `a${key}b`, status: 500 } }
      const shown = yield* reasonOf({ status: 400, body: odd, headers: { "request-id": "req_2" } })
      assert.deepStrictEqual(factsOf(shown), { status: 400, requestId: "req_2" })
    }))

  it.effect("is described by status and code, without unknown facts", () =>
    Effect.gen(function*() {
      const described = (reply: Reply) =>
        Effect.map(reasonOf(reply), (reason) => "description" in reason ? reason.description : undefined)
      assert.strictEqual(yield* described({ status: 400, body: {} }), "HTTP 400 from host")
      assert.strictEqual(
        yield* described({ status: 400, body: { error: { code: "", type: "limits" } } }),
        "HTTP 400 from host (code limits)"
      )
      assert.strictEqual(yield* described({ status: 200, body: { error: {} } }), "Error in the answer from host")
      const plain = yield* reasonOf({ status: 400, body: {} })
      assert.notProperty(plain, "parameter")
      for (const status of [429, 503]) {
        assert.notProperty(yield* reasonOf({ status, body: {} }), "retryAfter")
        const after = yield* reasonOf({ status, body: {}, headers: { "retry-after": "3" } })
        assert.deepStrictEqual((after as { readonly retryAfter?: unknown }).retryAfter, Duration.seconds(3))
      }
    }))

  it.effect("was too long for the model, or not", () =>
    Effect.gen(function*() {
      const isTooLong = (reply: Reply) =>
        Effect.flip(Effect.asVoid(generate())).pipe(
          Effect.map((error) => OpenAiCompatible.isContextLength(error as AiError.AiError)),
          Effect.provide(layerOf(clientOf(reply, "application/json")))
        )
      assert.isTrue(yield* isTooLong({ status: 413, body: {} }))
      for (const reply of [{ status: 400, body: {} }, { status: 429, body: {} }, { status: 200, body: "{\"" }]) {
        assert.isFalse(yield* isTooLong(reply))
      }
    }))

  it.effect("of a server that was given no key lacks one", () =>
    Effect.gen(function*() {
      const layer = OpenAiCompatible.layer({ baseUrl: "http://host/v1", model: "m", retry: false }).pipe(
        Layer.provide([
          Layer.succeed(HttpClient.HttpClient, clientOf({ status: 401, body: {} }, "application/json")),
          ids
        ])
      )
      const error = yield* Effect.flip(Effect.asVoid(generate())).pipe(Effect.provide(layer))
      assert.strictEqual(tagOf((error as AiError.AiError).reason), "AuthenticationError MissingKey")
    }))
})

describe("an error in an answer that began well", () => {
  const cases: ReadonlyArray<readonly [error: unknown, expected: string, status?: number]> = [
    [{ code: 429, message: "x" }, rate, 429],
    [{ code: "503", message: "x" }, down, 503],
    [{ status: 401, message: "x" }, "AuthenticationError InvalidKey", 401],
    [{ status_code: "400", message: "x" }, bad, 400],
    [{ code: 399 }, down],
    [{ code: 600 }, down],
    [{ code: "4290" }, down],
    [{ code: 429.5 }, down],
    [{ code: " 429" }, down],
    [{ code: "429e0" }, down],
    [{ code: ["429"] }, down],
    [{ code: 400 }, bad, 400],
    [{ code: 599 }, down, 599],
    ["text", down],
    [{ type: "invalid_request_error" }, bad],
    [{}, down]
  ]

  it.effect("is an error by its shape: a non-empty error object", () =>
    Effect.gen(function*() {
      const text = { choices: [{ message: { content: "fine" } }] }
      for (const body of [{ object: "error", code: 429 }, { type: "error", code: 429 }, [{ error: { code: 429 } }]]) {
        assert.strictEqual(tagOf(yield* reasonOf({ status: 200, body })), rate, JSON.stringify(body))
      }
      for (const error of [undefined, null, false]) {
        const { text: answer } = yield* generate().pipe(
          Effect.provide(layerOf(clientOf({ status: 200, body: { ...text, error } }, "application/json")))
        )
        assert.strictEqual(answer, "fine")
      }
      assert.strictEqual(tagOf(yield* reasonOf({ status: 200, body: [] })), "InvalidResponseError")
    }))

  /** Bodies without `error`, by the servers that send them with 200. */
  const others: ReadonlyArray<readonly [body: object, expected: string, code?: string]> = [
    [{ choices: null, base_resp: { status_code: 1002, status_msg: "rate limit" } }, rate, "base_resp_1002"],
    [{ choices: null, base_resp: { status_code: 1004, status_msg: "login fail" } }, "AuthenticationError InvalidKey"],
    [{ choices: [], base_resp: { status_code: 1008, status_msg: "no balance" } }, quota],
    [{ base_resp: { status_code: 1026, status_msg: "input sensitive" } }, "ContentPolicyError"],
    [{ base_resp: { status_code: 1027, status_msg: "output sensitive" } }, "ContentPolicyError"],
    [{ base_resp: { status_code: 2013, status_msg: "invalid params" } }, bad],
    [{ base_resp: { status_code: 1013, status_msg: "internal" } }, down],
    [{ code: "rate_limit_exceeded", message: "slow down", request_id: "r" }, rate, "rate_limit_exceeded"],
    [{ code: 401, msg: "no such user" }, "AuthenticationError InvalidKey", "401"],
    [{ error_code: 336000, error_msg: "internal" }, down, "336000"],
    [{ success: false, errors: [{ code: 429, message: "busy" }], messages: [], result: null }, rate, "429"],
    [{ success: false, errors: ["busy"] }, down]
  ]
  for (const [body, expected, code] of others) {
    it.effect(`${JSON.stringify(body)} is ${expected}, in a stream and in one piece`, () =>
      Effect.gen(function*() {
        const { error: streamed } = yield* observe(stream()).pipe(
          Effect.provide(
            layerOf(clientOf({ status: 200, body: `data: ${JSON.stringify(body)}\n\n` }, "text/event-stream"))
          )
        )
        for (const reason of [yield* reasonOf({ status: 200, body }), (streamed as AiError.AiError).reason]) {
          assert.strictEqual(tagOf(reason), expected)
          if (code !== undefined) assert.strictEqual(factsOf(reason)["code"], code)
        }
      }))
  }

  it.effect("is no error of a body that reports its success", () =>
    Effect.gen(function*() {
      const choices = [{ message: { content: "fine" } }]
      for (const fields of [{ base_resp: { status_code: 0 } }, { code: 0, msg: "ok" }, { errors: [], success: true }]) {
        const { text } = yield* generate().pipe(
          Effect.provide(layerOf(clientOf({ status: 200, body: { choices, ...fields } }, "application/json")))
        )
        assert.strictEqual(text, "fine")
      }
    }))

  for (const [error, expected, status] of cases) {
    it.effect(`${JSON.stringify(error)} is ${expected}, in a stream and in one piece`, () =>
      Effect.gen(function*() {
        const whole = yield* reasonOf({ status: 200, body: { error } })
        const body = `data: ${JSON.stringify({ error })}\n\n`
        const { error: streamed } = yield* observe(stream()).pipe(
          Effect.provide(layerOf(clientOf({ status: 200, body }, "text/event-stream")))
        )
        for (const reason of [whole, (streamed as AiError.AiError).reason]) {
          assert.strictEqual(tagOf(reason), expected)
          assert.strictEqual(factsOf(reason)["status"], status)
        }
      }))
  }
})

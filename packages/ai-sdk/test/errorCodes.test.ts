/** Codes of errors, and their meaning. */

import { assert, describe, it } from "@effect/vitest"
import { Redaction } from "@recourse/core"
import { Effect } from "effect"
import { api, factsOf, failureOf, wordsOf } from "./support/apiFailures.ts"

describe("codes", () => {
  const meanings: Readonly<Record<string, ReadonlyArray<string>>> = {
    "QuotaExhausted": [
      "insufficient_quota",
      "quota_exceeded",
      "exceeded_current_quota_error",
      "billing_error",
      "billing_not_active",
      "billing_hard_limit_reached",
      "insufficient_balance",
      "insufficient_credits"
    ],
    "Authentication InvalidKey": [
      "invalid_api_key",
      "API_KEY_INVALID",
      "authentication_error",
      "invalid_authentication_error",
      "UNAUTHENTICATED",
      "unauthorized"
    ],
    "Authentication ExpiredKey": ["API_KEY_EXPIRED", "expired_api_key", "token_expired"],
    "Authentication MissingKey": ["missing_api_key"],
    "Authentication InsufficientPermissions": [
      "permission_error",
      "PERMISSION_DENIED",
      "account_deactivated",
      "access_denied",
      "unsupported_country_region_territory"
    ],
    "ContentPolicy": [
      "content_filter",
      "content_policy_violation",
      "ResponsibleAIPolicyViolation",
      "moderation_blocked",
      "data_inspection_failed"
    ],
    "InvalidRequest prompt": [
      "context_length_exceeded",
      "context_window_exceeded",
      "exceed_context_size_error",
      "string_above_max_length",
      "request_too_large"
    ],
    "InvalidRequest model": ["model_not_found", "unknown_model"]
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
      "not_found_error"
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
      assert.strictEqual(factsOf(yield* failureOf(api({ statusCode: 422 })))?.["kind"], "unexplained")
      assert.strictEqual(factsOf(yield* failureOf(api({ statusCode: 413 })))?.["kind"], "context-length")
      const kinds: Readonly<Record<string, string | undefined>> = {
        "messages": "unexplained",
        "input_tokens": "unexplained",
        "temperature": undefined
      }
      for (const [param, kind] of Object.entries(kinds)) {
        const facts = factsOf(yield* failureOf(api({ statusCode: 400, data: { error: { code: 400, param } } })))
        assert.strictEqual(facts?.["kind"], kind, param)
      }
      const id = { code: "string_above_max_length", param: "messages.[2].tool_calls.[0].id" }
      assert.isUndefined(factsOf(yield* failureOf(api({ statusCode: 400, data: { error: id } })))?.["kind"])
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

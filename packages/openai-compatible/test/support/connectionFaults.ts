/** Faults of connections and statuses, one a row of `docs/wire-faults.md`. */

import { assert } from "@effect/vitest"
import { OpenAiCompatible } from "@recourse/openai-compatible"
import * as Server from "./server.ts"
import { always, answer, type Fault, halfCall, thenAnswer } from "./wireFault.ts"

export const connectionFaults: ReadonlyArray<Fault> = [
  // Connections
  {
    fault: "connection reset before the answer, once",
    does: "tries again",
    replies: (mode) => [{ close: "reset before the answer" }, answer(mode)],
    requests: 2
  },
  {
    fault: "connection reset before the answer, always",
    replies: () => [{ close: "reset before the answer" }],
    requests: 3,
    reason: "NetworkError",
    retryable: true
  },
  {
    fault: "body broken in the middle",
    in: "whole",
    replies: always({ headers: { "content-type": "application/json" }, chunks: ["{\"id\":"], close: "reset" }),
    requests: 3,
    reason: "NetworkError",
    retryable: true
  },
  {
    fault: "stream without a single byte, once",
    in: "stream",
    does: "tries again",
    replies: thenAnswer({ chunks: [] }),
    requests: 2
  },
  {
    fault: "stream reset before its first byte, always",
    in: "stream",
    replies: always({ chunks: [], close: "reset" }),
    requests: 3,
    reason: "NetworkError",
    retryable: true
  },
  {
    fault: "stream reset in the middle",
    in: "stream",
    does: "a part that was emitted is not repeated",
    replies: thenAnswer({ chunks: [Server.chunk({ content: "half" })], close: "reset" }),
    requests: 1,
    reason: "NetworkError",
    retryable: true,
    check: ({ parts }) => assert.isFalse(parts.some((part) => part.type === "finish"))
  },
  {
    fault: "stream ended cleanly before its end",
    in: "stream",
    replies: thenAnswer({ chunks: [Server.chunk({ content: "half" })] }),
    requests: 1,
    reason: "NetworkError",
    retryable: true,
    check: ({ parts }) => assert.isFalse(parts.some((part) => part.type === "finish"))
  },
  {
    fault: "stream ended in the middle of an event of a tool call",
    in: "stream",
    does: "the call is not emitted",
    replies: thenAnswer({ chunks: [halfCall, halfCall.slice(0, 40)] }),
    requests: 1,
    reason: "NetworkError",
    retryable: true,
    check: ({ parts }) => assert.isFalse(parts.some((part) => part.type === "tool-call"))
  },
  {
    fault: "no answer within `timeout`",
    does: "`timeout` limits all requests together",
    replies: always({ chunks: [], close: "hang" }),
    options: { timeout: "100 millis" },
    requests: 1,
    reason: "NetworkError",
    retryable: true
  },
  {
    fault: "stream that stops in the middle, for `idleTimeout`",
    in: "stream",
    does: "a part that was emitted is not repeated",
    replies: always({ chunks: [Server.chunk({ content: "half" })], close: "hang" }),
    options: { idleTimeout: "150 millis" },
    requests: 1,
    reason: "NetworkError",
    retryable: true,
    check: ({ parts }) => assert.isFalse(parts.some((part) => part.type === "finish"))
  },
  {
    fault: "body that stops in the middle, for `idleTimeout`",
    in: "whole",
    replies: always({
      headers: { "content-type": "application/json" },
      chunks: ["{\"id\":"],
      close: "hang"
    }),
    options: { idleTimeout: "150 millis" },
    requests: 3,
    reason: "NetworkError",
    retryable: true
  },
  {
    fault: "answer without content, pings or not, for `contentTimeout`",
    replies: always({ chunks: [": ping\n\n"], close: "hang" }),
    options: { contentTimeout: "150 millis" },
    requests: 1,
    reason: "NetworkError",
    retryable: true
  },
  // Statuses that pass
  {
    fault: "503, twice",
    does: "tries again",
    replies: (mode) => [Server.error(503), Server.error(503), answer(mode)],
    requests: 3
  },
  {
    fault: "429 with `Retry-After: 0.05`",
    does: "waits as asked, tries again",
    replies: thenAnswer(Server.error(429, {}, { "retry-after": "0.05" })),
    requests: 2
  },
  {
    fault: "429 with a wait in the details of its body (Gemini)",
    does: "waits as asked, tries again",
    replies: thenAnswer(
      Server.json({
        error: {
          code: 429,
          message: Server.prose,
          details: [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "0.05s" }]
        }
      }, 429)
    ),
    requests: 2
  },
  {
    fault: "429 with `Retry-After: 3600`",
    does: "its `retryAfter` is above the limit",
    replies: always(Server.error(429, { code: "rate_limit_exceeded" }, { "retry-after": "3600" })),
    requests: 1,
    reason: "RateLimitError",
    retryable: true,
    retryAfter: "1 hour"
  },
  {
    fault: "503 with `retry-after-ms: 90000`",
    does: "its `retryAfter` is above the limit",
    replies: always(Server.error(503, {}, { "retry-after-ms": "90000" })),
    requests: 1,
    reason: "InternalProviderError",
    retryable: true,
    retryAfter: "90 seconds"
  },
  {
    fault: "503 with `x-should-retry: false`",
    replies: always(Server.error(503, {}, { "x-should-retry": "false" })),
    requests: 1,
    reason: "InternalProviderError",
    retryable: true
  },
  ...[408, 409, 500, 501, 502, 504, 520, 524, 527, 529, 530].map((status): Fault => ({
    fault: `${status}, always`,
    replies: always(Server.error(status)),
    requests: 3,
    reason: "InternalProviderError",
    retryable: true
  })),
  {
    fault: "429, always",
    replies: always(Server.error(429, { code: "rate_limit_exceeded", type: "requests" })),
    requests: 3,
    reason: "RateLimitError",
    retryable: true
  },
  ...[301, 307].map((status): Fault => ({
    fault: `${status}, a redirect`,
    replies: thenAnswer(Server.error(status, {}, { location: "/elsewhere" })),
    requests: 1,
    reason: "InvalidRequestError",
    retryable: false
  })),
  ...[424, 425, 498, 499].map((status): Fault => ({
    fault: `${status}`,
    does: "left to `ModelError.retry`",
    replies: always(Server.error(status)),
    requests: 1,
    reason: "InternalProviderError",
    retryable: true
  })),
  // Statuses that do not pass
  {
    fault: "401",
    replies: always(Server.error(401, { code: "invalid_api_key" })),
    requests: 1,
    reason: "AuthenticationError",
    retryable: false
  },
  {
    fault: "400 with `API_KEY_INVALID` in its details (Gemini)",
    replies: always(
      Server.json(
        [{
          error: {
            code: 400,
            message: Server.prose,
            status: "INVALID_ARGUMENT",
            details: [{ reason: "API_KEY_INVALID" }]
          }
        }],
        400
      )
    ),
    requests: 1,
    reason: "AuthenticationError",
    retryable: false
  },
  {
    fault: "403",
    replies: always(Server.error(403)),
    requests: 1,
    reason: "AuthenticationError",
    retryable: false
  },
  {
    fault: "402",
    replies: always(Server.error(402)),
    requests: 1,
    reason: "QuotaExhaustedError",
    retryable: false
  },
  {
    fault: "429 with code `insufficient_quota`",
    replies: always(Server.error(429, { code: "insufficient_quota", type: "insufficient_quota" })),
    requests: 1,
    reason: "QuotaExhaustedError",
    retryable: false
  },
  {
    fault: "400 with code `context_length_exceeded`",
    replies: always(Server.error(400, { code: "context_length_exceeded", param: "messages" })),
    requests: 1,
    reason: "InvalidRequestError",
    retryable: false,
    check: ({ error }) => assert.isTrue(error !== undefined && OpenAiCompatible.isContextLength(error))
  },
  {
    fault: "413",
    replies: always({ status: 413, headers: { "content-type": "text/html" }, chunks: ["<h1>PROSE-OF-THE-SERVER"] }),
    requests: 1,
    reason: "InvalidRequestError",
    retryable: false,
    check: ({ error }) => assert.isTrue(error !== undefined && OpenAiCompatible.isContextLength(error))
  },
  {
    fault: "400 with code `content_policy_violation`",
    replies: always(Server.error(400, { code: "content_policy_violation" })),
    requests: 1,
    reason: "ContentPolicyError",
    retryable: false
  },
  {
    fault: "403 with reasons of moderation (OpenRouter)",
    replies: always(Server.error(403, { code: 403, metadata: { reasons: ["violence"], flagged_input: "x" } })),
    requests: 1,
    reason: "ContentPolicyError",
    retryable: false
  },
  {
    fault: "404, unknown model",
    replies: always(Server.error(404, { code: "model_not_found" })),
    requests: 1,
    reason: "InvalidRequestError",
    retryable: false,
    check: ({ error }) => assert.include(error?.message, "model \"test-model\"")
  },
  {
    fault: "400, a wrong parameter",
    replies: always(Server.error(400, { type: "invalid_request_error", param: "temperature" })),
    requests: 1,
    reason: "InvalidRequestError",
    retryable: false,
    check: ({ error }) => assert.isFalse(error !== undefined && OpenAiCompatible.isContextLength(error))
  },
  {
    fault: "400 with code `tool_use_failed` (Groq)",
    replies: always(Server.error(400, { code: "tool_use_failed" })),
    requests: 1,
    reason: "InvalidOutputError",
    retryable: true
  }
]

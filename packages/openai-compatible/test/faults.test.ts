import { assert, describe, it } from "@effect/vitest"
import { OpenAiCompatible } from "@recourse/openai-compatible"
import { Duration, Effect, Redacted, Stream } from "effect"
import type { AiError, LanguageModel } from "effect/ai"
import { ErrorProjection, ProviderResponse, TransportRetry } from "@recourse/core"
import { expect } from "vitest"
import { generate, key, model, observe, stream } from "./harness.ts"
import { printsOf } from "../../../test/support/prints.ts"
import * as Server from "./server.ts"

type Mode = "whole" | "stream"

interface Fault {
  readonly fault: string
  /** Recourse's reaction, for the reader. */
  readonly does: string
  /** In which calls it can happen. Default: both. */
  readonly in?: Mode
  readonly replies: (mode: Mode) => ReadonlyArray<Server.Reply>
  readonly options?: Partial<OpenAiCompatible.Options>
  readonly requests: number
  /** The reason that surfaces; none if the call succeeds. */
  readonly reason?: AiError.AiErrorReason["_tag"]
  readonly retryable?: boolean
  readonly retryAfter?: Duration.Input
  /** Further invariant. */
  readonly check?: (outcome: Outcome) => void
}

interface Outcome {
  readonly error: AiError.AiError | undefined
  readonly parts: ReadonlyArray<Record<string, unknown>>
  readonly bodies: ReadonlyArray<Record<string, unknown>>
}

const answer = (mode: Mode): Server.Reply =>
  mode === "whole"
    ? Server.completion({ content: "fine" })
    : { chunks: [Server.chunk({ content: "fine" }), Server.chunk({}, "stop"), Server.done] }

const then = (reply: Server.Reply) => (mode: Mode) => [reply, answer(mode)]
const always = (reply: Server.Reply) => () => [reply]

const surfaces = "surfaces at once"
const retried = "tries again"
const exhausted = "tries again, then the error surfaces"

const halfCall = Server.chunk({ tool_calls: [{ index: 0, id: "a", function: { name: "now", arguments: "{" } }] })

/** An answer with these fields of the message, whole or in one delta. */
const message = (fields: Record<string, unknown>, finish = "stop") => (mode: Mode): ReadonlyArray<Server.Reply> => [
  mode === "whole"
    ? Server.completion({ content: null, ...fields }, {}, finish)
    : { chunks: [Server.chunk(fields), Server.chunk({}, finish), Server.done] }
]

const nowCall = (args = "{}") => ({ index: 0, id: "a", type: "function", function: { name: "now", arguments: args } })

const callsIn = (parts: Outcome["parts"]) => parts.filter((part) => part.type === "tool-call")

const textIn = (parts: Outcome["parts"]) =>
  parts.map((part) => part.type === "text" ? part.text : part.type === "text-delta" ? part.delta : "").join("")

const faults: ReadonlyArray<Fault> = [
  // Connections
  {
    fault: "connection reset before the answer, once",
    does: retried,
    replies: (mode) => [{ close: "reset before the answer" }, answer(mode)],
    requests: 2
  },
  {
    fault: "connection reset before the answer, always",
    does: exhausted,
    replies: () => [{ close: "reset before the answer" }],
    requests: 3,
    reason: "NetworkError",
    retryable: true
  },
  {
    fault: "body broken in the middle",
    in: "whole",
    does: exhausted,
    replies: always({ headers: { "content-type": "application/json" }, chunks: ["{\"id\":"], close: "reset" }),
    requests: 3,
    reason: "NetworkError",
    retryable: true
  },
  {
    fault: "stream without a single byte, once",
    in: "stream",
    does: retried,
    replies: then({ chunks: [] }),
    requests: 2
  },
  {
    fault: "stream reset before its first byte, always",
    in: "stream",
    does: exhausted,
    replies: always({ chunks: [], close: "reset" }),
    requests: 3,
    reason: "NetworkError",
    retryable: true
  },
  {
    fault: "stream reset in the middle",
    in: "stream",
    does: `${surfaces}: what came out cannot be taken back`,
    replies: then({ chunks: [Server.chunk({ content: "half" })], close: "reset" }),
    requests: 1,
    reason: "NetworkError",
    retryable: true,
    check: ({ parts }) => assert.isFalse(parts.some((part) => part.type === "finish"))
  },
  {
    fault: "stream ended cleanly before its end",
    in: "stream",
    does: surfaces,
    replies: then({ chunks: [Server.chunk({ content: "half" })] }),
    requests: 1,
    reason: "NetworkError",
    retryable: true,
    check: ({ parts }) => assert.isFalse(parts.some((part) => part.type === "finish"))
  },
  {
    fault: "stream ended in the middle of an event of a tool call",
    in: "stream",
    does: `${surfaces}; the call is never emitted`,
    replies: then({ chunks: [halfCall, halfCall.slice(0, 40)] }),
    requests: 1,
    reason: "NetworkError",
    retryable: true,
    check: ({ parts }) => assert.isFalse(parts.some((part) => part.type === "tool-call"))
  },
  {
    fault: "no answer within `timeout`",
    does: `${surfaces}: the time is the caller's whole budget`,
    replies: always({ chunks: [], close: "hang" }),
    options: { timeout: "100 millis" },
    requests: 1,
    reason: "NetworkError",
    retryable: true
  },
  {
    fault: "stream that stops in the middle, for `idleTimeout`",
    in: "stream",
    does: `${surfaces}: what came out cannot be taken back`,
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
    does: exhausted,
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
    does: surfaces,
    replies: always({ chunks: [": ping\n\n"], close: "hang" }),
    options: { contentTimeout: "150 millis" },
    requests: 1,
    reason: "NetworkError",
    retryable: true
  },
  // Statuses that pass
  {
    fault: "503, twice",
    does: retried,
    replies: (mode) => [Server.error(503), Server.error(503), answer(mode)],
    requests: 3
  },
  {
    fault: "429 with `Retry-After: 0.05`",
    does: "waits as asked, tries again",
    replies: then(Server.error(429, {}, { "retry-after": "0.05" })),
    requests: 2
  },
  {
    fault: "429 with a wait in the details of its body (Gemini)",
    does: "waits as asked, tries again",
    replies: then(
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
    does: `${surfaces} with its retryAfter, which is above the limit`,
    replies: always(Server.error(429, { code: "rate_limit_exceeded" }, { "retry-after": "3600" })),
    requests: 1,
    reason: "RateLimitError",
    retryable: true,
    retryAfter: "1 hour"
  },
  {
    fault: "503 with `retry-after-ms: 90000`",
    does: `${surfaces} with its retryAfter, which is above the limit`,
    replies: always(Server.error(503, {}, { "retry-after-ms": "90000" })),
    requests: 1,
    reason: "InternalProviderError",
    retryable: true,
    retryAfter: "90 seconds"
  },
  {
    fault: "503 with `x-should-retry: false`",
    does: surfaces,
    replies: always(Server.error(503, {}, { "x-should-retry": "false" })),
    requests: 1,
    reason: "InternalProviderError",
    retryable: true
  },
  ...[408, 409, 500, 501, 502, 504, 520, 524, 527, 529, 530].map((status): Fault => ({
    fault: `${status}, always`,
    does: exhausted,
    replies: always(Server.error(status)),
    requests: 3,
    reason: "InternalProviderError",
    retryable: true
  })),
  {
    fault: "429, always",
    does: exhausted,
    replies: always(Server.error(429, { code: "rate_limit_exceeded", type: "requests" })),
    requests: 3,
    reason: "RateLimitError",
    retryable: true
  },
  ...[301, 307].map((status): Fault => ({
    fault: `${status}, a redirect`,
    does: `${surfaces}: redirects are not followed`,
    replies: then(Server.error(status, {}, { location: "/elsewhere" })),
    requests: 1,
    reason: "InvalidRequestError",
    retryable: false
  })),
  ...[425].map((status): Fault => ({
    fault: `${status}`,
    does: `${surfaces}, for the model's own retry`,
    replies: always(Server.error(status)),
    requests: 1,
    reason: "InternalProviderError",
    retryable: true
  })),
  // Statuses that do not pass
  {
    fault: "401",
    does: surfaces,
    replies: always(Server.error(401, { code: "invalid_api_key" })),
    requests: 1,
    reason: "AuthenticationError",
    retryable: false
  },
  {
    fault: "400 with `API_KEY_INVALID` in its details (Gemini)",
    does: surfaces,
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
    does: surfaces,
    replies: always(Server.error(403)),
    requests: 1,
    reason: "AuthenticationError",
    retryable: false
  },
  {
    fault: "402",
    does: surfaces,
    replies: always(Server.error(402)),
    requests: 1,
    reason: "QuotaExhaustedError",
    retryable: false
  },
  {
    fault: "429 with code `insufficient_quota`",
    does: surfaces,
    replies: always(Server.error(429, { code: "insufficient_quota", type: "insufficient_quota" })),
    requests: 1,
    reason: "QuotaExhaustedError",
    retryable: false
  },
  {
    fault: "400 with code `context_length_exceeded`",
    does: surfaces,
    replies: always(Server.error(400, { code: "context_length_exceeded", param: "messages" })),
    requests: 1,
    reason: "InvalidRequestError",
    retryable: false,
    check: ({ error }) => assert.isTrue(error !== undefined && OpenAiCompatible.isContextLength(error))
  },
  {
    fault: "413",
    does: surfaces,
    replies: always({ status: 413, headers: { "content-type": "text/html" }, chunks: ["<h1>PROSE-OF-THE-SERVER"] }),
    requests: 1,
    reason: "InvalidRequestError",
    retryable: false,
    check: ({ error }) => assert.isTrue(error !== undefined && OpenAiCompatible.isContextLength(error))
  },
  {
    fault: "400 with code `content_policy_violation`",
    does: surfaces,
    replies: always(Server.error(400, { code: "content_policy_violation" })),
    requests: 1,
    reason: "ContentPolicyError",
    retryable: false
  },
  {
    fault: "403 with reasons of moderation (OpenRouter)",
    does: surfaces,
    replies: always(Server.error(403, { code: 403, metadata: { reasons: ["violence"], flagged_input: "x" } })),
    requests: 1,
    reason: "ContentPolicyError",
    retryable: false
  },
  {
    fault: "404, unknown model",
    does: surfaces,
    replies: always(Server.error(404, { code: "model_not_found" })),
    requests: 1,
    reason: "InvalidRequestError",
    retryable: false,
    check: ({ error }) => assert.include(error?.message, "model \"test-model\"")
  },
  {
    fault: "400, a wrong parameter",
    does: surfaces,
    replies: always(Server.error(400, { type: "invalid_request_error", param: "temperature" })),
    requests: 1,
    reason: "InvalidRequestError",
    retryable: false,
    check: ({ error }) => assert.isFalse(error !== undefined && OpenAiCompatible.isContextLength(error))
  },
  {
    fault: "400 with code `tool_use_failed` (Groq)",
    does: surfaces,
    replies: always(Server.error(400, { code: "tool_use_failed" })),
    requests: 1,
    reason: "InvalidOutputError",
    retryable: true
  },
  // Good statuses over bad bodies
  {
    fault: "200 with HTML",
    does: surfaces,
    replies: always({ headers: { "content-type": "text/html" }, chunks: ["<h1>PROSE-OF-THE-SERVER"] }),
    requests: 1,
    reason: "InvalidResponseError",
    retryable: false
  },
  {
    fault: "200 with JSON of another protocol",
    does: surfaces,
    replies: always(Server.json({ choices: [{ message: { content: 7 } }], note: "PROSE-OF-THE-SERVER" })),
    requests: 1,
    reason: "InvalidResponseError",
    retryable: false,
    check: ({ error }) => assert.include(error?.message, "[\"choices\"][0][\"message\"][\"content\"]")
  },
  {
    fault: "200 with a body that ends cleanly before its end",
    in: "whole",
    does: surfaces,
    replies: always({
      headers: { "content-type": "application/json" },
      chunks: ["{\"choices\":[{\"message\":{\"content\":\"ha"]
    }),
    requests: 1,
    reason: "NetworkError",
    retryable: true
  },
  {
    fault: "200 with an empty body",
    in: "whole",
    does: surfaces,
    replies: always({ headers: { "content-type": "application/json" } }),
    requests: 1,
    reason: "InvalidResponseError",
    retryable: false
  },
  {
    fault: "200 with an error of code 429 (OpenRouter)",
    does: surfaces,
    replies: always(Server.json({ error: { code: 429, message: Server.prose } })),
    requests: 1,
    reason: "RateLimitError",
    retryable: true
  },
  {
    fault: "200 that ends with `finish_reason: \"error\"`",
    does: surfaces,
    replies: (mode) => [
      mode === "whole"
        ? Server.completion({ content: "half" }, {}, "error")
        : { chunks: [Server.chunk({ content: "half" }), Server.chunk({}, "error"), Server.done] }
    ],
    requests: 1,
    reason: "InternalProviderError",
    retryable: true
  },
  {
    fault: "unknown `finish_reason`, with the quirk `unknownFinishReason: \"stop\"`",
    does: "accepts the answer as whole",
    replies: (mode) => [
      mode === "whole"
        ? Server.completion({ content: "fine" }, {}, "constructor")
        : { chunks: [Server.chunk({ content: "fine" }), Server.chunk({}, "constructor"), Server.done] }
    ],
    options: { quirks: { unknownFinishReason: "stop" } },
    requests: 1,
    check: ({ parts }) => assert.strictEqual(parts.find((part) => part.type === "finish")?.reason, "stop")
  },
  {
    fault: "answer larger than `maxBodySize`",
    does: surfaces,
    replies: (mode) => [
      mode === "whole"
        ? Server.completion({ content: "x".repeat(2000) })
        : { chunks: [Server.chunk({ content: "x".repeat(2000) }), Server.chunk({}, "stop"), Server.done] }
    ],
    options: { maxBodySize: 1000 },
    requests: 1,
    reason: "InvalidResponseError",
    retryable: false
  },
  {
    fault: "error event in a stream, code `insufficient_quota`",
    in: "stream",
    does: surfaces,
    replies: always({
      chunks: [
        Server.chunk({ content: "half" }),
        Server.event({ error: { code: "insufficient_quota", message: Server.prose } }),
        Server.done
      ]
    }),
    requests: 1,
    reason: "QuotaExhaustedError",
    retryable: false
  },
  {
    fault: "error event in a stream, status 502 and a choice (OpenRouter)",
    in: "stream",
    does: surfaces,
    replies: always({
      chunks: [
        Server.chunk({ content: "half" }),
        Server.event({
          id: "x",
          error: { code: 502, message: Server.prose },
          choices: [{ index: 0, delta: { content: "" }, finish_reason: "error" }]
        })
      ]
    }),
    requests: 1,
    reason: "InternalProviderError",
    retryable: true
  },
  {
    fault: "`event: error` in a stream, overloaded",
    in: "stream",
    does: surfaces,
    replies: always({
      chunks: [
        Server.chunk({ content: "half" }),
        `event: error\ndata: ${JSON.stringify({ type: "overloaded_error", message: Server.prose })}\n\n`
      ]
    }),
    requests: 1,
    reason: "InternalProviderError",
    retryable: true
  },
  {
    fault: "`event: error` in a stream, in prose",
    in: "stream",
    does: surfaces,
    replies: always({ chunks: [`event: error\ndata: ${Server.prose}\n\n`] }),
    requests: 1,
    reason: "InternalProviderError",
    retryable: true
  },
  {
    fault: "event of a stream that is not JSON",
    in: "stream",
    does: surfaces,
    replies: always({ chunks: [Server.event("PROSE-OF-THE-SERVER"), Server.done] }),
    requests: 1,
    reason: "InvalidResponseError",
    retryable: false
  },
  {
    fault: "event stream of another protocol",
    in: "stream",
    does: surfaces,
    replies: always({ chunks: [Server.event({ type: "message_start" }), Server.event({ type: "message_stop" })] }),
    requests: 1,
    reason: "InvalidResponseError",
    retryable: false
  },
  {
    fault: "`choices: null`, a whole `message` in place of a delta, and `\"[DONE]\"` in quotes",
    in: "stream",
    does: "reads them",
    replies: always({
      chunks: [
        Server.event({ id: "x", choices: null }),
        Server.event({ id: "x", choices: [{ index: "0", message: { content: "fine" }, finish_reason: "stop" }] }),
        Server.event("\"[DONE]\"")
      ]
    }),
    requests: 1,
    check: ({ parts }) => assert.strictEqual(textIn(parts), "fine")
  },
  {
    fault: "half of a surrogate pair in the text",
    does: "replaces it with `\ufffd`, and sends none back",
    replies: message({ content: "a\ud83d" }),
    requests: 1,
    check: ({ parts }) => assert.strictEqual(textIn(parts), "a\ufffd")
  },
  // Tools
  {
    fault: "a call that is reported twice",
    does: "passes it on once; other arguments under one id are two calls",
    replies: message({ tool_calls: [nowCall(), nowCall()] }, "tool_calls"),
    requests: 1,
    check: ({ parts }) => assert.strictEqual(callsIn(parts).length, 1)
  },
  {
    fault: "a call that the server left in the text, with tools offered",
    does: surfaces,
    replies: message({ content: "<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call>" }),
    requests: 1,
    reason: "InvalidOutputError",
    retryable: true,
    check: ({ parts }) => assert.isEmpty(callsIn(parts))
  },
  {
    fault: "a number in arguments that parsing changes",
    does: "passes them on as text: that one call fails its tool's check",
    replies: message({ tool_calls: [nowCall("{\"n\":2512292042121000001}")] }, "tool_calls"),
    requests: 1,
    check: ({ parts }) =>
      assert.deepStrictEqual(callsIn(parts).map(({ params }) => params), ["{\"n\":2512292042121000001}"])
  },
  {
    fault: "native tools refused by code",
    does: "asks again with inline tools, and remembers it for the model",
    replies: (mode) => [Server.error(400, { code: "unsupported_parameter", param: "tools" }), answer(mode)],
    requests: 2,
    check: ({ bodies }) => {
      assert.property(bodies[0], "tools")
      assert.notProperty(bodies[1], "tools")
    }
  },
  {
    fault: "arguments of a call that are not JSON",
    does: "passes them on as text: that one call fails its tool's check",
    replies: (mode) => {
      const tool_calls = [{ index: 0, id: "a", function: { name: "parse", arguments: "{json: 1" } }]
      return [
        mode === "whole"
          ? Server.completion({ content: null, tool_calls }, {}, "tool_calls")
          : { chunks: [Server.chunk({ tool_calls }), Server.chunk({}, "tool_calls"), Server.done] }
      ]
    },
    requests: 1,
    check: ({ parts }) => assert.strictEqual(parts.find((part) => part.type === "tool-call")?.params, "{json: 1")
  },
  {
    fault: "a call without a name",
    does: surfaces,
    replies: (mode) => {
      const tool_calls = [{ index: 0, id: "a", function: { arguments: "{}" } }]
      return [
        mode === "whole"
          ? Server.completion({ content: null, tool_calls }, {}, "tool_calls")
          : { chunks: [Server.chunk({ tool_calls }), Server.chunk({}, "tool_calls"), Server.done] }
      ]
    },
    requests: 1,
    reason: "InvalidOutputError",
    retryable: true,
    check: ({ parts }) => assert.isFalse(parts.some((part) => part.type === "tool-call"))
  }
]

const run = (fault: Fault, mode: Mode) =>
  Effect.gen(function*() {
    const server = yield* Server.make(...fault.replies(mode))
    let waits = 0
    const call: Stream.Stream<unknown, AiError.AiError, LanguageModel.LanguageModel> = mode === "stream" ?
      stream() :
      Stream.unwrap(
        Effect.map(generate(), (response) => Stream.fromIterable(response.content))
      )
    const { error, parts } = yield* observe(call).pipe(
      Effect.provide(model(`${server.url}?key=QUERY-OF-THE-URL`, fault.options)),
      Effect.provideService(TransportRetry.Observer, () =>
        Effect.sync(() => {
          waits++
        }))
    )
    assert.strictEqual(error?.reason._tag, fault.reason, `${mode}: ${error?.message}`)
    assert.strictEqual(error?.isRetryable, fault.retryable, mode)
    assert.deepStrictEqual(
      error?.retryAfter && Duration.toMillis(error.retryAfter),
      fault.retryAfter === undefined ? undefined : Duration.toMillis(Duration.fromInputUnsafe(fault.retryAfter)),
      mode
    )
    assert.strictEqual(server.requests.length, fault.requests, mode)
    // Each request but the first, and but the one with inline tools, was waited for by the transport.
    assert.strictEqual(waits, fault.requests - 1 - (fault.fault.startsWith("native tools") ? 1 : 0), mode)
    fault.check?.({ error, parts, bodies: server.requests.map(({ body }) => body) })
    if (error !== undefined) {
      for (const secret of [key, "PROSE-OF-THE-SERVER", "half"]) {
        assert.notInclude(error.message, secret)
        assert.notInclude(error.reason.message, secret)
      }
      const prints = yield* printsOf(error)
      for (const print of prints) {
        for (const secret of [key, "PROSE-OF-THE-SERVER", "QUERY-OF-THE-URL"]) assert.notInclude(print, secret)
      }
      const body = ProviderResponse.bodyOf(error)
      if (body !== undefined) assert.notInclude(Redacted.value(body), key)
    }
    const [first, ...again] = server.requests.map(({ body }) => JSON.stringify(body))
    return { error, host: new URL(server.url).host, isSameRequest: again.every((body) => body === first) }
  })

const printMessage = (error: AiError.AiError, host: string): string =>
  error.reason.message
    .replaceAll(host, "HOST")
    .replaceAll(/\(E[A-Z_]+\)/g, "(CODE)")
    .replaceAll(/\s+/g, " ")
    .replaceAll("|", "\\|")

const kept = (error: AiError.AiError | undefined): string => {
  if (error === undefined) return "–"
  const response = "http" in error.reason ? error.reason.http?.response : undefined
  const body = ProviderResponse.bodyOf(error)
  const all = [
    ...(response === undefined ? [] : [`status ${response.status}, headers`]),
    ...(body === undefined ? [] : ["body"])
  ]
  return all.length === 0 ? "–" : all.join(", ")
}

const rowOf = (fault: Fault) =>
  Effect.gen(function*() {
    const modes: ReadonlyArray<Mode> = fault.in === undefined ? ["whole", "stream"] : [fault.in]
    const outcomes = yield* Effect.forEach(modes, (mode) => run(fault, mode))
    const { error, host } = outcomes[0]!
    const isSameRequest = outcomes.every((outcome) => outcome.isSameRequest)
    return [
      fault.fault,
      fault.in ?? "both",
      fault.does,
      String(fault.requests),
      error === undefined
        ? "the call succeeds"
        : `\`${error.reason._tag}\`, ${error.isRetryable ? "" : "not "}retryable`,
      error === undefined ? "–" : printMessage(error, host),
      isSameRequest ? "the same request" : "its tools, in the prompt",
      error === undefined ? "–" : (yield* ErrorProjection.forUser(error, "run")).message,
      kept(error)
    ]
  })

describe("faults on the wire", () => {
  /** Observations of each fault's test, for the table: a fault is played once in a run of them all. */
  const rows = new Map<Fault, ReadonlyArray<string>>()
  const played = async (fault: Fault): Promise<ReadonlyArray<string>> => {
    const row = await Effect.runPromise(Effect.scoped(rowOf(fault)))
    rows.set(fault, row)
    return row
  }

  for (const fault of faults) it(`${fault.fault}`, () => played(fault))

  it("are the table of docs/wire-faults.md", async () => {
    const table: Array<ReadonlyArray<string>> = []
    for (const fault of faults) table.push(rows.get(fault) ?? await played(fault))
    await expect(document(table)).toMatchFileSnapshot("../../../docs/wire-faults.md")
  }, 120_000)
})

const document = (rows: ReadonlyArray<ReadonlyArray<string>>): string => {
  const table = [
    [
      "Fault",
      "Call",
      "Recourse",
      "Requests",
      "What surfaces",
      "Its message, fit for anyone",
      "The model sees",
      "The user is told",
      "Kept for the operator"
    ],
    ...rows
  ]
  const widths = table[0]!.map((_, column) => Math.max(...table.map((row) => row[column]!.length)))
  const line = (cells: ReadonlyArray<string>) =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column]!)).join(" | ")} |`
  const [head, ...body] = table.map(line)
  return [
    "# Faults on the wire",
    "",
    "Generated by `packages/openai-compatible/test/faults.test.ts`, which plays each fault on a real socket and checks each cell.",
    "",
    "A fault of the wire is never told to the model: it is asked again, or the call fails. Malformed arguments and unknown tools",
    "are not faults of the wire; they reach the loop as calls.",
    "",
    head,
    `| ${widths.map((width) => "-".repeat(width)).join(" | ")} |`,
    ...body,
    ""
  ].join("\n")
}

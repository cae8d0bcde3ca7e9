import { LLMock } from "@copilotkit/aimock"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Schema, Stream } from "effect"
import { LanguageModel, Prompt } from "effect/ai"
import { getLocal } from "mockttp"
import { Readable } from "node:stream"
import { generate, model, observe, stream } from "./support/harness.ts"
import * as Server from "./support/server.ts"

/** Servers that others wrote, so that our own reading of the protocol is not the only witness. */

const aimock = Effect.acquireRelease(
  Effect.promise(async () => {
    const mock = new LLMock({ port: 0, logLevel: "silent" })
    await mock.start()
    return mock
  }),
  (mock) => Effect.promise(() => mock.stop())
)

const mockttp = Effect.acquireRelease(
  Effect.promise(async () => {
    const server = getLocal()
    await server.start()
    return server
  }),
  (server) => Effect.promise(() => server.stop())
)

const prompt = Prompt.make("How many keys?")

describe("aimock", () => {
  it.live("text, reasoning and usage, whole and streamed", () =>
    Effect.gen(function*() {
      const mock = yield* aimock
      mock.onMessage("How many keys?", {
        content: "Zwei Schlüssel 🔑.",
        reasoning: "I count them.",
        usage: { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 }
      }, { chunkSize: 3 })
      yield* Effect.gen(function*() {
        const response = yield* generate(prompt)
        assert.strictEqual(response.text, "Zwei Schlüssel 🔑.")
        assert.strictEqual(response.reasoningText, "I count them.")
        assert.strictEqual(response.usage.inputTokens.total, 11)
        const { error, parts } = yield* observe(stream(prompt))
        assert.isUndefined(error)
        const deltas = (type: string) => parts.filter((part) => part.type === type).map((part) => part.delta).join("")
        assert.strictEqual(deltas("text-delta"), "Zwei Schlüssel 🔑.")
        assert.strictEqual(deltas("reasoning-delta"), "I count them.")
        assert.strictEqual(parts.at(-1)?.reason, "stop")
      }).pipe(Effect.provide(model(`${mock.url}/v1`)))
      assert.strictEqual(mock.getRequests().length, 2)
    }))

  it.live("parallel calls, whole and streamed, and their results by id", () =>
    Effect.gen(function*() {
      const mock = yield* aimock
      mock.onToolResult("call_2", { content: "Two and none." })
      mock.onMessage("How many keys?", {
        toolCalls: [
          { id: "call_1", name: "parse", arguments: "{\"json\":\"{\\\"a\\\":1}\"}" },
          { id: "call_2", name: "now", arguments: "{}" }
        ]
      }, { chunkSize: 2 })
      yield* Effect.gen(function*() {
        const expected = [["call_1", "parse", { json: "{\"a\":1}" }], ["call_2", "now", {}]]
        const response = yield* generate(prompt)
        assert.strictEqual(response.finishReason, "tool-calls")
        assert.deepStrictEqual<unknown>(response.toolCalls.map(({ id, name, params }) => [id, name, params]), expected)
        const { parts } = yield* observe(stream(prompt))
        assert.deepStrictEqual(
          parts.filter((part) => part.type === "tool-call").map(({ id, name, params }) => [id, name, params]),
          expected
        )
        const results = Prompt.make([{
          role: "tool",
          content: [
            { type: "tool-result", id: "call_1", name: "parse", isFailure: false, result: 1 },
            { type: "tool-result", id: "call_2", name: "now", isFailure: false, result: "noon" }
          ]
        }])
        const next = Prompt.concat(Prompt.concat(prompt, Prompt.fromResponseParts(response.content)), results)
        assert.strictEqual((yield* generate(next)).text, "Two and none.")
      }).pipe(Effect.provide(model(`${mock.url}/v1`)))
    }))

  it.live("structured output, by schema and by json_object", () =>
    Effect.gen(function*() {
      const mock = yield* aimock
      mock.onJsonOutput("as an object", { keys: 1 })
      mock.on({ userMessage: "by schema", responseFormat: "json_schema" }, { content: "{\"keys\":2}" })
      const ask = (prompt: string, structuredOutput: "json_object" | "json_schema") =>
        LanguageModel.generateObject({ prompt, schema: Schema.Struct({ keys: Schema.Int }) }).pipe(
          Effect.provide(model(`${mock.url}/v1`, { quirks: { structuredOutput } })),
          Effect.map(({ value }) => value)
        )
      assert.deepStrictEqual(yield* ask("as an object", "json_object"), { keys: 1 })
      assert.deepStrictEqual(yield* ask("by schema", "json_schema"), { keys: 2 })
    }))

  it.live("a one-shot 503, a 429 with Retry-After, and an unknown model's 404", () =>
    Effect.gen(function*() {
      const mock = yield* aimock
      mock.onMessage("How many keys?", { content: "Two" })
      yield* Effect.gen(function*() {
        mock.nextRequestError(503, { message: "x", type: "server_error" })
        assert.strictEqual((yield* generate(prompt)).text, "Two")
        assert.strictEqual(mock.getRequests().length, 2)

        mock.clearFixtures()
        mock.onMessage("How many keys?", {
          error: { message: "x", type: "rate_limit_error", code: "rate_limit_exceeded" },
          status: 429,
          retryAfter: 90
        })
        const limited = yield* Effect.flip(generate(prompt))
        assert.strictEqual(limited.reason._tag, "RateLimitError")
        assert.deepStrictEqual(limited.retryAfter, Duration.seconds(90))
        assert.strictEqual(mock.getRequests().length, 3)

        mock.clearFixtures()
        const unknown = yield* Effect.flip(generate(prompt))
        assert.strictEqual(unknown.reason._tag, "InvalidRequestError")
        assert.strictEqual(mock.getRequests().length, 4)
      }).pipe(Effect.provide(model(`${mock.url}/v1`)))
    }))

  it.live("a stream that is disconnected, and an answer that is malformed", () =>
    Effect.gen(function*() {
      const mock = yield* aimock
      mock.onMessage("How many keys?", {
        toolCalls: [{ id: "call_1", name: "parse", arguments: "{\"json\":\"a long enough argument\"}" }]
      }, { chunkSize: 2, latency: 10, truncateAfterChunks: 6 })
      mock.onMessage("Malformed", { content: "x" }, { chaos: { malformedRate: 1 } })
      yield* Effect.gen(function*() {
        const { error, parts } = yield* observe(stream(prompt))
        assert.strictEqual(error?.reason._tag, "NetworkError")
        assert.isTrue(parts.some((part) => part.type === "tool-params-start"))
        assert.isFalse(parts.some((part) => part.type === "tool-call"))
        const malformed = yield* Effect.flip(generate("Malformed"))
        assert.strictEqual(malformed.reason._tag, "InvalidResponseError")
      }).pipe(Effect.provide(model(`${mock.url}/v1`)))
      assert.strictEqual(mock.getRequests().length, 2)
    }))
})

describe("mockttp", () => {
  const sse = { "content-type": "text/event-stream" }
  const whole = JSON.stringify({ choices: [{ message: { content: "Two" }, finish_reason: "stop" }] })

  it.live("closed and reset connections are tried again", () =>
    Effect.gen(function*() {
      const server = yield* mockttp
      const rules = yield* Effect.promise(async () => [
        await server.forPost("/v1/chat/completions").once().thenCloseConnection(),
        await server.forPost("/v1/chat/completions").once().thenResetConnection(),
        await server.forPost("/v1/chat/completions").once().thenReply(200, whole, {
          "content-type": "application/json"
        })
      ])
      const response = yield* generate(prompt).pipe(Effect.provide(model(server.urlFor("/v1"))))
      assert.strictEqual(response.text, "Two")
      const seen = yield* Effect.promise(() => Promise.all(rules.map((rule) => rule.getSeenRequests())))
      assert.deepStrictEqual(seen.map((requests) => requests.length), [1, 1, 1])
    }))

  it.live("ends cleanly, or is reset, in the middle of an event", () =>
    Effect.gen(function*() {
      const server = yield* mockttp
      const body = Server.chunk({ content: "Tw" }) + Server.chunk({ content: "o" }).slice(0, 30)
      const broken = new Readable({ read: () => {} })
      broken.push(body)
      yield* Effect.promise(async () => {
        await server.forPost("/v1/chat/completions").once().thenReply(200, body, sse)
        await server.forPost("/v1/chat/completions").once().thenStream(200, broken, sse)
      })
      yield* Effect.gen(function*() {
        for (const end of ["clean", "broken"]) {
          const { error, parts } = yield* observe(
            Stream.tap(stream(prompt), (part) =>
              Effect.sync(() => {
                // Sent parts have arrived: the reset removes none of them.
                if (end === "broken" && part.type === "text-delta") broken.destroy(new Error("x"))
              }))
          )
          assert.strictEqual(error?.reason._tag, "NetworkError")
          assert.isTrue(error?.isRetryable)
          assert.deepStrictEqual(parts.map((part) => part.delta ?? part.type), [
            "response-metadata",
            "text-start",
            "Tw"
          ])
        }
      }).pipe(Effect.provide(model(server.urlFor("/v1"))))
    }))

  it.live("a content-length that promises more than comes", () =>
    Effect.gen(function*() {
      const server = yield* mockttp
      yield* Effect.promise(() =>
        server.forPost("/v1/chat/completions").thenCallback(() => ({
          statusCode: 200,
          headers: { "content-type": "application/json", "content-length": String(whole.length + 100) },
          body: whole
        }))
      )
      const error = yield* Effect.flip(generate(prompt)).pipe(
        Effect.timeout("5 seconds"),
        Effect.provide(model(server.urlFor("/v1"), { timeout: "300 millis" }))
      )
      assert.strictEqual(error._tag === "AiError" && error.reason._tag, "NetworkError")
    }))

  it.live("headers of every kind on a 503", () =>
    Effect.gen(function*() {
      const server = yield* mockttp
      const rule = yield* Effect.promise(() =>
        server.forPost("/v1/chat/completions").thenReply(503, "down", {
          "retry-after": "soon",
          "x-should-retry": "maybe",
          "set-cookie": "session=secret",
          "x-request-id": "req_1"
        })
      )
      const error = yield* Effect.flip(generate(prompt)).pipe(Effect.provide(model(server.urlFor("/v1"))))
      assert.strictEqual(error.reason._tag, "InternalProviderError")
      assert.strictEqual((yield* Effect.promise(() => rule.getSeenRequests())).length, 3)
      const kept = JSON.stringify(error)
      assert.include(kept, "req_1")
      assert.notInclude(kept, "session=secret")
    }))
})

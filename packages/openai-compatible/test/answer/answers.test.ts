import { assert, describe, it } from "@effect/vitest"
import { NodeHttpClient } from "@effect/platform-node"
import { OpenAiCompatible } from "@recourse/openai-compatible"
import { Effect, Layer, Option, Stream } from "effect"
import type { LanguageModel } from "effect/ai"
import { FetchHttpClient } from "effect/http"
import { TransportRetry } from "@recourse/core"
import { generate, model, observe, plain, quick, stream } from "../support/harness.ts"
import * as Server from "../support/server.ts"

const partsOf = (reply: Server.Reply) =>
  Effect.gen(function*() {
    const server = yield* Server.make(reply)
    const response = yield* generate().pipe(Effect.provide(model(server.url)))
    const text = JSON.stringify(response.content).replaceAll(new URL(server.url).host, "HOST")
    return (JSON.parse(text) as ReadonlyArray<unknown>).map(plain)
  })

const metadata = {
  type: "response-metadata",
  id: "chatcmpl-1",
  modelId: "test-model",
  timestamp: "2023-11-14T22:13:20.000Z"
}
const usage = { inputTokens: { total: 10, uncached: 10 }, outputTokens: { total: 5, text: 5 } }

describe("a whole answer", () => {
  it.effect("becomes metadata, reasoning, text, calls and finish", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(
        yield* partsOf(Server.completion(
          {
            content: "Hi",
            reasoning_content: "Hm",
            tool_calls: [
              { id: "a", type: "function", function: { name: "parse", arguments: "{\"json\":\"1\"}" } },
              { type: "function", function: { name: "now", arguments: "" } },
              { id: "a", function: { name: "parse", arguments: { json: "2" } } },
              { id: "b", function: { name: "parse", arguments: "{json" } },
              { id: "c", function: { name: "nobody", arguments: "{}" } }
            ]
          },
          {},
          "tool_calls"
        )),
        [
          metadata,
          { type: "reasoning", text: "Hm" },
          { type: "text", text: "Hi" },
          {
            type: "tool-call",
            id: "a",
            name: "parse",
            params: { json: "1" },
            metadata: { chatCompletions: { server: "HOST", reasoning: "reasoning_content" } }
          },
          { type: "tool-call", id: "id_1", name: "now", params: {} },
          { type: "tool-call", id: "id_1_2", name: "parse", params: { json: "2" } },
          { type: "tool-call", id: "b", name: "parse", params: "{json" },
          { type: "tool-call", id: "c", name: "nobody", params: {} },
          { type: "finish", reason: "tool-calls", usage }
        ]
      )
    }))

  it.effect("with content as an array is read in order", () =>
    Effect.gen(function*() {
      const parts = yield* partsOf(Server.completion({
        content: [
          { type: "thinking", thinking: [{ type: "text", text: "Hm, " }, { type: "text", text: "yes" }] },
          { type: "text", text: "Hel" },
          { type: "text", text: "lo" }
        ]
      }))
      assert.deepStrictEqual(parts.slice(1, 3), [
        { type: "reasoning", text: "Hm, yes" },
        { type: "text", text: "Hello" }
      ])
    }))

  const reasons: ReadonlyArray<readonly [string | null, boolean, string]> = [
    ["stop", false, "stop"],
    ["stop", true, "tool-calls"],
    ["STOP", false, "stop"],
    ["eos_token", false, "stop"],
    ["eos", false, "stop"],
    ["end_turn", false, "stop"],
    ["stop_sequence", false, "stop"],
    ["max_tokens", false, "length"],
    ["recitation", false, "content-filter"],
    ["sensitive", false, "content-filter"],
    ["function_call", true, "tool-calls"],
    ["tool_use", true, "tool-calls"],
    ["length", true, "length"],
    ["model_length", false, "length"],
    ["content_filter", false, "content-filter"],
    ["SAFETY", false, "content-filter"],
    ["IMAGE_SAFETY", false, "content-filter"],
    ["refusal", false, "content-filter"],
    ["content_filter: PROHIBITED_CONTENT", false, "content-filter"],
    ["content-filter", false, "content-filter"],
    ["function_call_filter: MALFORMED_FUNCTION_CALL", false, "other"],
    ["max-tokens", false, "length"],
    ["tool_call", true, "tool-calls"],
    ["something_new", true, "other"],
    [null, false, "stop"],
    [null, true, "tool-calls"]
  ]
  for (const [finish, calls, expected] of reasons) {
    it.effect(`that ends with ${finish}${calls ? " and calls a tool" : ""} ends for ${expected}`, () =>
      Effect.gen(function*() {
        const parts = yield* partsOf(Server.completion(
          calls ? { content: null, tool_calls: [{ id: "a", function: { name: "now" } }] } : { content: "x" },
          {},
          finish
        ))
        assert.strictEqual(parts.at(-1)?.reason, expected)
      }))
  }

  it.effect("with odd metadata and counts keeps the valid ones", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(
        yield* partsOf(Server.json({
          id: null,
          model: 7,
          created: 1e99,
          choices: [{ message: { content: "x" }, finish_reason: "stop" }],
          usage: {
            prompt_tokens: -1,
            completion_tokens: "many",
            prompt_cache_hit_tokens: 3,
            completion_tokens_details: null
          }
        })),
        [
          { type: "text", text: "x" },
          {
            type: "finish",
            reason: "stop",
            usage: { inputTokens: { cacheRead: 3 }, outputTokens: {} }
          }
        ]
      )
    }))

  it.effect("has its sources, once each", () =>
    Effect.gen(function*() {
      const parts = yield* partsOf(Server.completion(
        { content: "x", annotations: [{ type: "url_citation", url_citation: { url: "https://a.test/", title: "A" } }] },
        { citations: ["https://a.test/", "https://b.test/", "not a url"] }
      ))
      assert.deepStrictEqual(parts.slice(2, 4), [
        { type: "source", sourceType: "url", id: "source_1", url: "https://a.test/", title: "A" },
        { type: "source", sourceType: "url", id: "source_2", url: "https://b.test/", title: "https://b.test/" }
      ])
    }))

  it.effect("that is a refusal is filtered content", () =>
    Effect.gen(function*() {
      const parts = yield* partsOf(Server.completion({ content: null, refusal: "I cannot." }))
      assert.deepStrictEqual(parts[1], { type: "text", text: "I cannot." })
      assert.strictEqual(parts.at(-1)?.reason, "content-filter")
    }))

  it.effect("to a request for a stream is understood all the same", () =>
    Effect.gen(function*() {
      const server = yield* Server.make(Server.completion({ content: "Hi" }))
      const { error, parts } = yield* observe(stream()).pipe(Effect.provide(model(server.url)))
      assert.isUndefined(error)
      assert.deepStrictEqual(parts, [
        metadata,
        { type: "text-start", id: "text_1" },
        { type: "text-delta", id: "text_1", delta: "Hi" },
        { type: "text-end", id: "text_1" },
        { type: "finish", reason: "stop", usage }
      ])
    }))
})

const untilFirstText: Effect.Effect<void, unknown, LanguageModel.LanguageModel> = stream().pipe(
  Stream.takeUntil((part) => part.type === "text-delta"),
  Stream.runDrain
)

describe("a call", () => {
  it.live("that is interrupted aborts its request", () =>
    Effect.gen(function*() {
      const server = yield* Server.make({ chunks: [], close: "hang" })
      const outcome = yield* generate().pipe(
        Effect.provide(model(server.url)),
        Effect.timeoutOption("100 millis")
      )
      assert.isTrue(Option.isNone(outcome))
      yield* Effect.promise(() => new Promise((resolve) => setTimeout(resolve, 50)))
      assert.deepStrictEqual(server.requests.map(({ aborted }) => aborted()), [true])
    }))

  it.live("to a server that is down fails with a reason after three attempts", () =>
    Effect.gen(function*() {
      const url = yield* Effect.scoped(Effect.map(Server.make(), (server) => server.url))
      const attempts: Array<number> = []
      const error = yield* generate().pipe(
        Effect.flip,
        Effect.provide(model(url)),
        Effect.provideService(TransportRetry.Observer, ({ attempt }) =>
          Effect.sync(() => {
            attempts.push(attempt)
          }))
      )
      assert.strictEqual(error.reason._tag, "NetworkError")
      assert.include(error.message, "ECONNREFUSED")
      assert.deepStrictEqual(attempts, [1, 2])
    }))
})

describe("every client of effect", () => {
  const clients = {
    fetch: FetchHttpClient.layer,
    undici: NodeHttpClient.layerUndici,
    "node:http": NodeHttpClient.layerNodeHttp
  }
  for (const [name, client] of Object.entries(clients)) {
    it.live(`${name}: text, stream, a retried 503, a broken stream, an aborted request`, () =>
      Effect.gen(function*() {
        const server = yield* Server.make(
          Server.completion({ content: "Hi" }),
          { chunks: [Server.chunk({ content: "Hö" }), Server.chunk({}, "stop"), Server.done] },
          Server.error(503),
          Server.completion({ content: "again" }),
          { chunks: [Server.chunk({ content: "half" })], close: "reset" },
          { chunks: [Server.chunk({ content: "first" })], close: "hang" }
        )
        const layer = OpenAiCompatible.layer({ baseUrl: server.url, model: "m", ...quick }).pipe(
          Layer.provide(client)
        )
        yield* Effect.gen(function*() {
          assert.strictEqual((yield* generate()).text, "Hi")
          const streamed = yield* observe(stream())
          assert.isUndefined(streamed.error)
          assert.strictEqual(streamed.parts.at(-1)?.reason, "stop")
          assert.strictEqual((yield* generate()).text, "again")
          const cut = yield* observe(stream())
          assert.strictEqual(cut.error?.reason._tag, "NetworkError")
          assert.strictEqual(cut.parts.at(-1)?.delta, "half")
          yield* untilFirstText
          yield* Effect.promise(() => new Promise((resolve) => setTimeout(resolve, 100)))
          assert.isTrue(server.requests.at(-1)?.aborted())
        }).pipe(Effect.provide(layer))
        assert.strictEqual(server.requests.length, 6)
      }))
  }
})

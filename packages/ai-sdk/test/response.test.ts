import type { LanguageModelV4GenerateResult } from "@ai-sdk/provider"
import { assert, describe, it } from "@effect/vitest"
import { AiSdk } from "@recourse/ai-sdk"
import { Effect, Schema, Stream } from "effect"
import { LanguageModel, type Response, Tool, Toolkit } from "effect/ai"
import { finish, usage, v3, v4 } from "./support/models.ts"

const WebSearch = Tool.providerDefined({
  id: "openai.web_search",
  customName: "WebSearch",
  providerName: "web_search",
  args: Schema.Struct({}),
  parameters: Schema.Unknown,
  success: Schema.Unknown,
  failure: Schema.Unknown
})({})

const Ping = Tool.make("ping", { success: Schema.Unknown })
const toolkit = Toolkit.make(WebSearch, Ping)

const plain = (parts: ReadonlyArray<Response.AnyPart>) =>
  parts.map((part) => Object.fromEntries(Object.entries(part).filter(([key]) => !key.startsWith("~"))))

const generate = (answer: Parameters<typeof v4>[0]) =>
  LanguageModel.generateText({
    prompt: "Hi",
    toolkit,
    disableToolCallResolution: true,
    toolCallValidation: "deferred"
  }).pipe(
    Effect.map((response) => plain(response.content)),
    Effect.provide(AiSdk.layer(v4(answer).model))
  )

const stream = (model: AiSdk.Model) => {
  const parts: Array<Response.AnyPart> = []
  return LanguageModel.streamText({
    prompt: "Hi",
    toolkit,
    disableToolCallResolution: true,
    toolCallValidation: "deferred"
  }).pipe(
    Stream.runForEach((part) => Effect.sync(() => parts.push(part))),
    Effect.exit,
    Effect.map((exit) => ({ exit, parts, types: parts.map((part) => part.type) })),
    Effect.provide(AiSdk.layer(model))
  )
}

const call = (toolCallId: string) => ({ type: "tool-call", toolCallId, toolName: "ping", input: "{}" }) as const

describe("whole answers", () => {
  it.effect("every kind of content", () =>
    Effect.gen(function*() {
      const meta = { anthropic: { signature: "abc", nested: { gone: undefined as never, kept: null } } }
      const cleaned = { anthropic: { signature: "abc", nested: { kept: null } } }
      const parts = yield* generate({
        content: [
          { type: "reasoning", text: "hm", providerMetadata: meta },
          {
            type: "text",
            text: "Hello",
            providerMetadata: meta,
            citations: [{ source: { type: "source", sourceType: "url", id: "s0", url: "https://a.example/" } }]
          },
          { type: "file", mediaType: "image/png", data: { type: "data", data: "AQID" } },
          { type: "file", mediaType: "image/png", data: { type: "data", data: new Uint8Array([1, 2, 3]) } },
          { type: "file", mediaType: "image/png", data: { type: "url", url: new URL("https://a.example/f.png") } },
          { type: "source", sourceType: "url", id: "s1", url: "https://b.example/", title: "B" },
          { type: "source", sourceType: "url", id: "s2", url: "no URL" },
          { type: "source", sourceType: "document", id: "s3", mediaType: "text/plain", title: "D", filename: "d.txt" },
          { type: "custom", kind: "openai.thing" },
          { type: "reasoning-file", mediaType: "image/png", data: { type: "data", data: "AQID" } },
          {
            type: "tool-call",
            toolCallId: "w",
            toolName: "WebSearch",
            input: `{"q":"x"}`,
            providerExecuted: true,
            providerMetadata: meta
          },
          { type: "tool-result", toolCallId: "w", toolName: "WebSearch", result: { hits: 1 } },
          { type: "tool-result", toolCallId: "w", toolName: "WebSearch", result: "busy", isError: true },
          { type: "tool-call", toolCallId: "m", toolName: "mcp_thing", input: "{}", providerExecuted: true },
          { type: "tool-result", toolCallId: "m", toolName: "mcp_thing", result: 1 },
          { type: "tool-approval-request", approvalId: "a", toolCallId: "w" },
          call("p")
        ],
        result: {
          finishReason: { unified: "tool-calls", raw: "tool_use" },
          response: { id: "r", modelId: "m-2", timestamp: new Date("2026-01-02T03:04:05.678Z") },
          providerMetadata: meta,
          usage: { ...usage, outputTokens: { total: Number.NaN, text: 1.5, reasoning: undefined } }
        }
      })
      const executed = { providerExecuted: true, metadata: {} }
      assert.deepStrictEqual(
        parts.slice(1, -1),
        [
          { type: "reasoning", text: "hm", metadata: cleaned },
          { type: "text", text: "Hello", metadata: cleaned },
          {
            type: "source",
            sourceType: "url",
            id: "s0",
            url: new URL("https://a.example/"),
            title: "https://a.example/",
            metadata: {}
          },
          { type: "file", mediaType: "image/png", data: new Uint8Array([1, 2, 3]), metadata: {} },
          { type: "file", mediaType: "image/png", data: new Uint8Array([1, 2, 3]), metadata: {} },
          {
            type: "source",
            sourceType: "url",
            id: "https://a.example/f.png",
            url: new URL("https://a.example/f.png"),
            title: "image/png",
            metadata: {}
          },
          { type: "source", sourceType: "url", id: "s1", url: new URL("https://b.example/"), title: "B", metadata: {} },
          {
            type: "source",
            sourceType: "document",
            id: "s3",
            mediaType: "text/plain",
            title: "D",
            fileName: "d.txt",
            metadata: {}
          },
          { type: "tool-call", id: "w", name: "WebSearch", params: { q: "x" }, ...executed, metadata: cleaned },
          {
            type: "tool-result",
            id: "w",
            name: "WebSearch",
            isFailure: false,
            result: { hits: 1 },
            encodedResult: { hits: 1 },
            preliminary: false,
            ...executed
          },
          {
            type: "tool-result",
            id: "w",
            name: "WebSearch",
            isFailure: true,
            result: "busy",
            encodedResult: "busy",
            preliminary: false,
            ...executed
          },
          { type: "tool-approval-request", approvalId: "a", toolCallId: "w", metadata: {} },
          { type: "tool-call", id: "p", name: "ping", params: {}, providerExecuted: false, metadata: {} }
        ]
      )
      assert.deepInclude(parts[0], { type: "response-metadata", id: "r", modelId: "m-2" })
      assert.include(String(parts[0]?.["timestamp"]), "2026-01-02T03:04:05.678Z")
      const last = parts.at(-1)
      assert.deepInclude(last, { type: "finish", reason: "tool-calls", metadata: cleaned })
      assert.deepStrictEqual(JSON.parse(JSON.stringify(last?.["usage"])), {
        inputTokens: { uncached: 3, total: 5, cacheRead: 2, cacheWrite: 0 },
        outputTokens: {}
      })
    }))

  it.effect("finish reasons", () =>
    Effect.gen(function*() {
      for (const unified of ["stop", "length", "content-filter", "tool-calls", "error", "other"] as const) {
        const parts = yield* generate({
          content: [{ type: "text", text: "x" }],
          result: { finishReason: { unified, raw: "raw" } }
        })
        assert.strictEqual(parts.at(-1)?.["reason"], unified)
      }
    }))

  it.effect("an interrupted answer, and an empty one, fail", () =>
    Effect.gen(function*() {
      const interrupted = yield* Effect.flip(generate({
        content: [{ type: "text", text: "half" }, call("p")],
        result: { finishReason: { unified: "interrupted", raw: undefined } }
      }))
      assert.strictEqual(interrupted.reason._tag, "NetworkError")
      const nothing = yield* Effect.flip(generate({ result: { finishReason: { unified: "other", raw: undefined } } }))
      assert.strictEqual(nothing.reason._tag, "InvalidResponseError")
    }))

  it.effect("structured output is read from the text that the provider selects", () =>
    Effect.gen(function*() {
      const result = (structuredOutputText: string): Partial<LanguageModelV4GenerateResult> => ({
        structuredOutputText,
        content: [{ type: "text", text: "a draft" }, { type: "text", text: `{"n":1}` }]
      })
      const run = (text: string) =>
        LanguageModel.generateObject({ prompt: "Hi", schema: Schema.Struct({ n: Schema.Int }) }).pipe(
          Effect.map((response) => response.value),
          Effect.provide(AiSdk.layer(v4({ result: result(text) }).model))
        )
      assert.deepStrictEqual(yield* run(`{"n":1}`), { n: 1 })
      const error = yield* Effect.flip(run(""))
      assert.strictEqual(error.reason._tag, "StructuredOutputError")
      // only if the answer is to be parsed
      const parts = yield* generate({ result: result(`{"n":1}`) })
      assert.deepStrictEqual(parts.filter((part) => part["type"] === "text").map((part) => part["text"]), [
        "a draft",
        `{"n":1}`
      ])
    }))

  it.effect("V3 files", () =>
    Effect.gen(function*() {
      const { model } = v3({ content: [{ type: "file", mediaType: "image/png", data: new Uint8Array([1, 2, 3]) }] })
      const response = yield* LanguageModel.generateText({ prompt: "Hi" }).pipe(Effect.provide(AiSdk.layer(model)))
      assert.deepInclude(response.content[0], { type: "file", data: new Uint8Array([1, 2, 3]) })
    }))
})

describe("streams", () => {
  it.effect("behind a call, history parts wait in order; progress does not", () =>
    Effect.gen(function*() {
      const { exit, types } = yield* stream(
        v4({
          stream: [
            { type: "stream-start", warnings: [] },
            { type: "reasoning-start", id: "r" },
            { type: "reasoning-delta", id: "r", delta: "hm" },
            { type: "reasoning-end", id: "r" },
            { type: "ping" },
            { type: "raw", rawValue: {} },
            { type: "tool-input-start", id: "a", toolName: "ping" },
            { type: "tool-input-delta", id: "a", delta: "{}" },
            { type: "tool-input-end", id: "a" },
            call("a"),
            { type: "text-start", id: "t" },
            { type: "text-delta", id: "t", delta: "and" },
            { type: "text-end", id: "t" },
            { type: "tool-input-start", id: "b", toolName: "ping" },
            call("b"),
            { type: "response-metadata", id: "r" },
            finish
          ]
        }).model
      )
      assert.strictEqual(exit._tag, "Success")
      assert.deepStrictEqual(types, [
        "reasoning-start",
        "reasoning-delta",
        "reasoning-end",
        "tool-params-start",
        "tool-params-delta",
        "tool-params-end",
        "tool-params-start",
        "response-metadata",
        "tool-call",
        "text-start",
        "text-delta",
        "text-end",
        "tool-call",
        "finish"
      ])
    }))

  it.effect("calls that the provider executes do not wait", () =>
    Effect.gen(function*() {
      const { types } = yield* stream(
        v4({
          stream: [
            { type: "tool-call", toolCallId: "w", toolName: "WebSearch", input: "{}", providerExecuted: true },
            { type: "tool-result", toolCallId: "w", toolName: "WebSearch", result: [] },
            { type: "text-start", id: "t" },
            { type: "error", error: new Error("late") }
          ]
        }).model
      )
      assert.deepStrictEqual(types, ["tool-call", "tool-result", "text-start"])
    }))

  it.effect("a stream with a wrong end yields no call", () =>
    Effect.gen(function*() {
      const endings = [
        [],
        [{ type: "finish", finishReason: { unified: "interrupted", raw: undefined }, usage }],
        [{ type: "finish", finishReason: { unified: "other", raw: undefined }, usage }],
        [{ type: "error", error: "anything" }],
        [finish, { type: "error", error: "anything" }],
        // the Anthropic package: the message was complete, and then there came more
        [finish, { type: "finish", finishReason: { unified: "interrupted", raw: undefined }, usage }]
      ] as const
      for (const ending of endings) {
        const { exit, types } = yield* stream(v4({ stream: [call("a"), ...ending] }).model)
        assert.strictEqual(exit._tag, "Failure")
        assert.deepStrictEqual(types, [])
      }
    }))

  it.effect("a truncated answer keeps its calls unexecuted", () =>
    Effect.gen(function*() {
      const ran: Array<string> = []
      const { model } = v4({
        stream: [call("a"), { type: "finish", finishReason: { unified: "length", raw: "length" }, usage }]
      })
      const parts = yield* LanguageModel.streamText({ prompt: "Hi", toolkit: Toolkit.make(Ping) }).pipe(
        Stream.runCollect,
        Effect.provide([
          AiSdk.layer(model),
          Toolkit.make(Ping).toLayer({ ping: () => Effect.sync(() => ran.push("ping")) })
        ])
      )
      assert.deepStrictEqual(parts.map((part) => part.type), ["tool-call", "tool-result", "finish"])
      assert.deepStrictEqual(ran, [])
    }))

  it.effect("the last of several ends counts", () =>
    Effect.gen(function*() {
      const { parts, types } = yield* stream(
        v4({
          stream: [
            { ...finish, usage: { ...usage, outputTokens: { total: 1, text: 1, reasoning: 0 } } },
            { type: "text-start", id: "t" },
            finish
          ]
        }).model
      )
      assert.deepStrictEqual(types, ["text-start", "finish"])
      assert.strictEqual(parts[1]?.type === "finish" ? parts[1].usage.outputTokens.total : 0, 7)
    }))

  it.effect("files of V4 and V3, sources, citations, approval requests", () =>
    Effect.gen(function*() {
      const fourth = yield* stream(
        v4({
          stream: [
            { type: "file", mediaType: "image/png", data: { type: "data", data: "AQID" } },
            { type: "source", sourceType: "url", id: "s", url: "https://a.example/" },
            { type: "text-start", id: "t" },
            {
              type: "text-end",
              id: "t",
              citations: [{ source: { type: "source", sourceType: "url", id: "c", url: "https://b.example/" } }]
            },
            { type: "tool-approval-request", approvalId: "a", toolCallId: "w" },
            { type: "custom", kind: "openai.thing" },
            { type: "tool-result", toolCallId: "m", toolName: "mcp_thing", result: 1 },
            finish
          ]
        }).model
      )
      assert.deepStrictEqual(fourth.types, [
        "file",
        "source",
        "text-start",
        "text-end",
        "source",
        "tool-approval-request",
        "finish"
      ])
      const third = yield* stream(
        v3({ stream: [{ type: "file", mediaType: "image/png", data: "AQID" }, finish] }).model
      )
      assert.deepInclude(third.parts[0], { type: "file", data: new Uint8Array([1, 2, 3]) })
    }))
})

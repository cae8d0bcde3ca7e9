import { type LanguageModelV4Prompt, LoadAPIKeyError } from "@ai-sdk/provider"
import { assert, describe, it } from "@effect/vitest"
import { AiSdk } from "@recourse/ai-sdk"
import { Effect, Schema } from "effect"
import { LanguageModel, type Prompt, Tool, Toolkit } from "effect/ai"
import { v3, v4 } from "./support/models.ts"

const hello = [{ type: "text" as const, text: "ok" }]

const sentPrompt = (prompt: Prompt.RawInput, toolkit?: Toolkit.Any) =>
  Effect.gen(function*() {
    const { calls, model } = v4({ content: hello, supportedUrls: { "image/*": [/^https:\/\/ok\.example\//] } })
    yield* LanguageModel.generateText({ prompt, disableToolCallResolution: true, ...(toolkit ? { toolkit } : {}) } as {
      prompt: Prompt.RawInput
    }).pipe(Effect.provide(AiSdk.layer(model)))
    return calls[0]!.prompt
  })

const results = (parts: ReadonlyArray<Partial<Prompt.ToolResultPartEncoded>>) =>
  Effect.map(
    sentPrompt([{
      role: "tool",
      content: parts.map((part) => ({
        type: "tool-result" as const,
        id: "call_1",
        name: "t",
        isFailure: false,
        result: null,
        ...part
      }))
    }]),
    (prompt) =>
      prompt.flatMap((message) => message.role === "tool" ? message.content : []).map((part) =>
        part.type === "tool-result" ? part.output : undefined
      )
  )

describe("prompt", () => {
  it.effect("messages with their provider options", () =>
    Effect.gen(function*() {
      const cache = { anthropic: { cacheControl: { type: "ephemeral" } } }
      const sent = yield* sentPrompt([
        { role: "system", content: "Be brief", options: cache },
        { role: "user", content: [{ type: "text", text: "Hi", options: { ...cache, empty: null } }] },
        {
          role: "assistant",
          content: [
            { type: "reasoning", text: "hm", options: { anthropic: { signature: "abc" } } },
            { type: "text", text: "Hello" },
            { type: "tool-call", id: "c", name: "t", params: { a: 1 }, options: { openai: { itemId: "fc_1" } } }
          ]
        }
      ])
      const expected: LanguageModelV4Prompt = [
        { role: "system", content: "Be brief", providerOptions: cache },
        { role: "user", content: [{ type: "text", text: "Hi", providerOptions: cache }] },
        {
          role: "assistant",
          content: [
            { type: "reasoning", text: "hm", providerOptions: { anthropic: { signature: "abc" } } },
            { type: "text", text: "Hello" },
            {
              type: "tool-call",
              toolCallId: "c",
              toolName: "t",
              input: { a: 1 },
              providerOptions: { openai: { itemId: "fc_1" } }
            }
          ]
        }
      ]
      assert.deepStrictEqual(sent, expected)
    }))

  it.effect("files: bytes, base64, URLs that the model fetches, data URLs", () =>
    Effect.gen(function*() {
      const bytes = new Uint8Array([1, 2, 3])
      const file = (data: string | Uint8Array | URL, mediaType = "image/png") => ({
        type: "file" as const,
        mediaType,
        data
      })
      const sent = yield* sentPrompt([{
        role: "user",
        content: [
          { ...file(bytes), fileName: "a.png" },
          file("AQID"),
          file(new URL("https://ok.example/a.png")),
          file("https://ok.example/b.png"),
          file("data:image/png;base64,AQID"),
          file(new URL("data:text/plain,a%20b"), "text/plain")
        ]
      }])
      assert.deepStrictEqual(sent[0]?.role === "user" ? sent[0].content : [], [
        { type: "file", mediaType: "image/png", data: { type: "data", data: bytes }, filename: "a.png" },
        { type: "file", mediaType: "image/png", data: { type: "data", data: "AQID" } },
        { type: "file", mediaType: "image/png", data: { type: "url", url: new URL("https://ok.example/a.png") } },
        { type: "file", mediaType: "image/png", data: { type: "url", url: new URL("https://ok.example/b.png") } },
        { type: "file", mediaType: "image/png", data: { type: "data", data: "AQID" } },
        { type: "file", mediaType: "text/plain", data: { type: "data", data: new TextEncoder().encode("a b") } }
      ])
    }))

  it.effect("a URL that the model cannot fetch is refused without its query", () =>
    Effect.gen(function*() {
      const { calls, model } = v4({ content: hello, supportedUrls: { "image/*": [/^https:\/\/ok\.example\//] } })
      for (
        const [url, mediaType] of [["https://no.example/a.png?token=secret", "image/png"], [
          "https://ok.example/a",
          "text/plain"
        ]] as const
      ) {
        const error = yield* Effect.flip(LanguageModel.generateText({
          prompt: [{ role: "user", content: [{ type: "file", mediaType, data: new URL(url) }] }]
        })).pipe(Effect.provide(AiSdk.layer(model)))
        assert.strictEqual(error.reason._tag, "InvalidUserInputError")
        assert.notInclude(error.message, "secret")
      }
      assert.lengthOf(calls, 0)
    }))

  it.effect("a model without known URLs is a typed failure", () =>
    Effect.gen(function*() {
      const { calls, model } = v4({ content: hello })
      const broken = { ...model, supportedUrls: Promise.reject(new LoadAPIKeyError({ message: "Set EXAMPLE_KEY" })) }
      const error = yield* Effect.flip(LanguageModel.generateText({
        prompt: [{
          role: "user",
          content: [{ type: "file", mediaType: "image/png", data: new URL("https://a.example") }]
        }]
      })).pipe(Effect.provide(AiSdk.layer(broken)))
      assert.strictEqual(error.reason._tag, "AuthenticationError")
      assert.lengthOf(calls, 0)
    }))

  it.effect("tool results: JSON, text, both failures, denied, content", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(
        yield* results([
          { result: { sum: 3 } },
          { result: "three" },
          { result: undefined },
          { result: { _tag: "NotFound", id: 1 }, isFailure: true },
          { result: "no", isFailure: true },
          { result: { type: "execution-denied", reason: "not today" }, isFailure: true },
          { result: { type: "execution-denied" }, isFailure: false },
          {
            result: "ignored",
            modelOutput: [{ type: "text", text: "see" }, { type: "file", mediaType: "image/png", data: "AQID" }]
          },
          { result: "quoted", providerExecuted: true }
        ]),
        [
          { type: "json", value: { sum: 3 } },
          { type: "text", value: "three" },
          { type: "json", value: null },
          { type: "error-json", value: { _tag: "NotFound", id: 1 } },
          { type: "error-text", value: "no" },
          { type: "execution-denied", reason: "not today" },
          { type: "json", value: { type: "execution-denied" } },
          {
            type: "content",
            value: [
              { type: "text", text: "see" },
              { type: "file", mediaType: "image/png", data: { type: "data", data: "AQID" } }
            ]
          },
          { type: "json", value: "quoted" }
        ]
      )
    }))

  it.effect("arguments that are no object become an object for the model", () =>
    Effect.gen(function*() {
      const Free = Tool.providerDefined({
        id: "openai.custom",
        customName: "Grammar",
        providerName: "custom",
        args: Schema.Struct({}),
        parameters: Schema.String,
        success: Schema.Unknown,
        requiresHandler: true
      })({})
      const call = (name: string, params: unknown, providerExecuted = false) => ({
        type: "tool-call" as const,
        id: name,
        name,
        params,
        providerExecuted
      })
      const sent = yield* sentPrompt([{
        role: "assistant",
        content: [
          call("a", `{"x":`),
          call("b", [1]),
          call("c", {}),
          call("d", "raw", true),
          call("Grammar", "SELECT 1")
        ]
      }], Toolkit.make(Free))
      assert.deepStrictEqual(
        sent.flatMap((message) => message.role === "assistant" ? message.content : []).map((part) =>
          part.type === "tool-call" ? part.input : undefined
        ),
        [{ rawInvalidInput: `{"x":` }, { rawInvalidInput: [1] }, {}, "raw", "SELECT 1"]
      )
    }))

  it.effect("a message without parts known to the SDK is omitted", () =>
    Effect.gen(function*() {
      const sent = yield* sentPrompt([
        { role: "assistant", content: [{ type: "tool-approval-request", approvalId: "a", toolCallId: "c" }] },
        { role: "user", content: "Hi" }
      ])
      assert.deepStrictEqual(sent.map((message) => message.role), ["user"])
    }))

  it.effect("V3: files are written bare, and `reasoning` is not sent", () =>
    Effect.gen(function*() {
      const { calls, model } = v3({ content: hello, supportedUrls: { "*": [/^https:/] } })
      const url = new URL("https://ok.example/a.pdf")
      yield* LanguageModel.generateText({
        prompt: [
          {
            role: "user",
            content: [
              { type: "file", mediaType: "application/pdf", data: url, fileName: "a.pdf" },
              { type: "file", mediaType: "image/png", data: new Uint8Array([1]) }
            ]
          },
          {
            role: "assistant",
            content: [
              { type: "file", mediaType: "image/png", data: "AQID" },
              { type: "tool-call", id: "c", name: "t", params: {} }
            ]
          },
          {
            role: "tool",
            content: [{
              type: "tool-result",
              id: "c",
              name: "t",
              isFailure: false,
              result: null,
              modelOutput: [
                { type: "text", text: "see" },
                { type: "file", mediaType: "image/png", data: new Uint8Array([1, 2, 3]) },
                { type: "file", mediaType: "application/pdf", data: "AQID", fileName: "b.pdf" },
                { type: "file", mediaType: "image/png", data: new URL("https://ok.example/c.png") },
                { type: "file", mediaType: "text/plain", data: url }
              ]
            }]
          }
        ]
      }).pipe(Effect.provide(AiSdk.layer(model, { reasoning: "high", seed: 1 })))
      assert.notProperty(calls[0], "reasoning")
      assert.strictEqual(calls[0]?.seed, 1)
      assert.deepStrictEqual(calls[0]?.prompt, [
        {
          role: "user",
          content: [
            { type: "file", mediaType: "application/pdf", data: url, filename: "a.pdf" },
            { type: "file", mediaType: "image/png", data: new Uint8Array([1]) }
          ]
        },
        {
          role: "assistant",
          content: [
            { type: "file", mediaType: "image/png", data: "AQID" },
            { type: "tool-call", toolCallId: "c", toolName: "t", input: {} }
          ]
        },
        {
          role: "tool",
          content: [{
            type: "tool-result",
            toolCallId: "c",
            toolName: "t",
            output: {
              type: "content",
              value: [
                { type: "text", text: "see" },
                { type: "image-data", mediaType: "image/png", data: "AQID" },
                { type: "file-data", mediaType: "application/pdf", data: "AQID", filename: "b.pdf" },
                { type: "image-url", url: "https://ok.example/c.png" },
                { type: "file-url", url: url.href }
              ]
            }
          }]
        }
      ])
    }))
})

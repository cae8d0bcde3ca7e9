/** A provider package's arguments, and the conversion of its whole answer, in tables. */
import type { LanguageModelV4GenerateResult } from "@ai-sdk/provider"
import { assert, describe, it } from "@effect/vitest"
import { AiSdk } from "@recourse/ai-sdk"
import { Effect, Logger, References, Schema, Stream, Tracer } from "effect"
import { LanguageModel, type Prompt, type Response, Tool, Toolkit } from "effect/ai"
import { finish, v3, v4 } from "./support/models.ts"

const text = [{ type: "text" as const, text: "ok" }]
const generate = LanguageModel.generateText({ prompt: "Hi" })

const withFile = (mediaType: string, url: string): Prompt.RawInput => [
  { role: "user", content: [{ type: "file", mediaType, data: new URL(url) }] }
]

const Search = Tool.providerDefined({
  id: "p.search",
  customName: "Search",
  providerName: "search",
  success: Schema.Unknown
})(undefined as never)

describe("the sent request", () => {
  it.effect("has only a prompt and a signal by default", () =>
    Effect.gen(function*() {
      const { calls, model } = v4({ content: text, stream: [finish] })
      const layer = AiSdk.layer(model, { idleTimeout: "1 minute", contentTimeout: "2 minutes" })
      yield* Effect.provide(generate, layer)
      yield* Effect.provide(Stream.runDrain(LanguageModel.streamText({ prompt: "Hi" })), layer)
      assert.deepStrictEqual(calls.map((call) => Object.keys(call).toSorted()), [
        ["abortSignal", "prompt"],
        ["abortSignal", "includeRawChunks", "prompt"]
      ])
      const { calls: empty, model: other } = v4({ content: text })
      yield* Effect.provide(generate, AiSdk.layer(other, { headers: {}, providerOptions: {} }))
      assert.deepInclude(empty[0], { headers: {}, providerOptions: {} })
    }))

  it.effect("has a URL if the model fetches such files there", () =>
    Effect.gen(function*() {
      const png = "https://a.example/x.png"
      const cases: ReadonlyArray<readonly [pattern: string, mediaType: string, isSent: boolean]> = [
        ["*", "image/png", true],
        ["*/*", "image/png", true],
        ["*/*", "application/pdf", true],
        ["image/*", "image/png", true],
        ["IMAGE/*", "Image/PNG", true],
        ["image/*", "image/*", true],
        ["image/*", "image", true],
        ["image/*", "imagery/png", false],
        ["image/*", "x-image/png", false],
        ["image/*", "application/pdf", false],
        ["image/png", "image/png", true],
        ["image/PNG", "IMAGE/png", true],
        ["image/png", "image/png2", false],
        ["image/png", "image/*", false],
        ["image/png", "image", false],
        ["application/pdf", "image/png", false]
      ]
      for (const [pattern, mediaType, isSent] of cases) {
        const { calls, model } = v4({ content: text, supportedUrls: { "x/y": [], [pattern]: [/nowhere/, /^https:/g] } })
        const run = Effect.provide(LanguageModel.generateText({ prompt: withFile(mediaType, png) }), AiSdk.layer(model))
        // Twice, because an expression with the flag "g" continues at its last position.
        for (const _ of [1, 2]) {
          const exit = yield* Effect.exit(run)
          assert.strictEqual(exit._tag === "Success", isSent, `${pattern} ${mediaType}`)
        }
        assert.lengthOf(calls, isSent ? 2 : 0)
      }
      const { calls, model } = v4({ content: text, supportedUrls: { "*": [/^https:\/\/b\.example\//] } })
      const error = yield* Effect.flip(
        Effect.provide(LanguageModel.generateText({ prompt: withFile("image/png", png) }), AiSdk.layer(model))
      )
      assert.deepInclude(error.reason, {
        _tag: "InvalidUserInputError",
        description: "The model does not fetch image/png files from https://a.example; read the file and pass its bytes"
      })
      assert.lengthOf(calls, 0)
    }))

  it.effect("has checked URLs of answers and of tools' results", () =>
    Effect.gen(function*() {
      const file = { type: "file" as const, mediaType: "image/png", data: new URL("https://a.example/x.png") }
      const result = (modelOutput: Prompt.ToolResultPartEncoded["modelOutput"]): Prompt.MessageEncoded => ({
        role: "tool",
        content: [{ type: "tool-result", id: "c", name: "t", isFailure: false, result: null, modelOutput } as never]
      })
      const data = { ...file, data: new Uint8Array([1]) }
      const prompts: ReadonlyArray<readonly [Prompt.RawInput, boolean]> = [
        [[{ role: "assistant", content: [file] }], false],
        [[result([{ type: "text", text: "see" }, file as never])], false],
        [[{ role: "assistant", content: [data] }, result([data as never]), result(undefined)], true]
      ]
      for (const [prompt, isSent] of prompts) {
        const { calls, model } = v4({ content: text })
        yield* Effect.exit(Effect.provide(LanguageModel.generateText({ prompt }), AiSdk.layer(model)))
        assert.lengthOf(calls, isSent ? 1 : 0)
      }
    }))

  it.effect("has a format name that every provider accepts, and its description", () =>
    Effect.gen(function*() {
      const { calls, model } = v4({ content: [{ type: "text", text: `{"n":1}` }] })
      const schema = Schema.Struct({ n: Schema.Int })
      const run = (objectName: string) =>
        Effect.provide(LanguageModel.generateObject({ prompt: "Hi", schema, objectName }), AiSdk.layer(model))
      yield* run("Weather in Zürich/today")
      yield* run(`aB_9-${"x".repeat(80)}`)
      const formats = calls.map(({ responseFormat }) => responseFormat)
      assert.deepStrictEqual(formats.map((format) => format?.type === "json" ? format.name : undefined), [
        "Weather_in_Z_rich_today",
        `aB_9-${"x".repeat(59)}`
      ])
      assert.notProperty(formats[0], "description")
    }))

  it.effect("is not sent for an unwritable prompt or schema", () =>
    Effect.gen(function*() {
      const { calls, model } = v4({ content: text })
      const failure = (run: Effect.Effect<unknown, unknown, LanguageModel.LanguageModel>) =>
        Effect.map(Effect.flip(run).pipe(Effect.provide(AiSdk.layer(model))), (error) =>
          (error as {
            readonly reason: unknown
          }).reason)
      const prompt = (result: unknown): Prompt.RawInput => [
        { role: "tool", content: [{ type: "tool-result", id: "c", name: "t", isFailure: false, result }] }
      ]
      const text$ = {
        toJSON: () => {
          throw "secret"
        }
      }
      for (const [value, name] of [[1n, "TypeError"], [text$, "string"]] as const) {
        assert.deepInclude(yield* failure(LanguageModel.generateText({ prompt: prompt(value) })), {
          _tag: "InvalidUserInputError",
          description: `The prompt holds a value that cannot be sent (${name})`
        })
      }
      for (const [thrown, description] of [[new Error("no such form"), "no such form"], ["no", "no"]] as const) {
        const layer = AiSdk.layer(model, {
          codecTransformer: () => {
            throw thrown
          }
        })
        const object = LanguageModel.generateObject({ prompt: "Hi", schema: Schema.Struct({ n: Schema.Int }) })
        const error = yield* Effect.flip(Effect.provide(object, layer))
        assert.deepInclude((error as { readonly reason: unknown }).reason, {
          _tag: "UnsupportedSchemaError",
          description
        })
      }
      assert.lengthOf(calls, 0)
    }))

  it.effect("has an empty options object for a provider tool", () =>
    Effect.gen(function*() {
      const { calls, model } = v4({ content: text })
      yield* Effect.provide(
        LanguageModel.generateText({ prompt: "Hi", toolkit: Toolkit.make(Search), disableToolCallResolution: true }),
        AiSdk.layer(model)
      )
      assert.deepStrictEqual(calls[0]?.tools, [{ type: "provider", id: "p.search", name: "Search", args: {} }])
    }))
})

describe("a conversation that is sent", () => {
  const sent = (prompt: Prompt.RawInput, toolkit: Toolkit.Any = Toolkit.empty) =>
    Effect.gen(function*() {
      const [current, former] = [v4({ content: text }), v3({ content: text })]
      for (const { model } of [current, former]) {
        yield* LanguageModel.generateText(
          { prompt, toolkit, disableToolCallResolution: true } as { readonly prompt: Prompt.RawInput }
        ).pipe(Effect.provide(AiSdk.layer(model)))
      }
      const prompts = [current.calls[0]!.prompt, former.calls[0]!.prompt] as const
      return prompts.map((messages) => messages.flatMap(({ content }): ReadonlyArray<unknown> => [...content]))
    })

  it.effect("has approval decisions with reasons; messages without any are omitted", () =>
    Effect.gen(function*() {
      const response = (approvalId: string, more: object) => ({
        type: "tool-approval-response" as const,
        approvalId,
        approved: false,
        ...more
      })
      const prompts = yield* sent([
        { role: "user", content: "Hi" },
        { role: "tool", content: [] },
        { role: "tool", content: [response("a", { reason: "no" }), response("b", { options: { p: { k: 1 } } })] }
      ])
      for (const prompt of prompts) {
        assert.deepStrictEqual(prompt, [
          { type: "text", text: "Hi" },
          response("a", { reason: "no" }),
          response("b", { providerOptions: { p: { k: 1 } } })
        ])
      }
    }))

  it.effect("calls that a provider executed, and their results in its answer", () =>
    Effect.gen(function*() {
      const call = { type: "tool-call" as const, id: "c", name: "t", params: "raw", providerExecuted: true }
      const result = { type: "tool-result" as const, id: "c", name: "t", isFailure: false, result: 1 }
      const prompts = yield* sent([{ role: "assistant", content: [call, result] }])
      for (const prompt of prompts) {
        assert.deepStrictEqual(prompt, [
          { type: "tool-call", toolCallId: "c", toolName: "t", input: "raw", providerExecuted: true },
          { type: "tool-result", toolCallId: "c", toolName: "t", output: { type: "json", value: 1 } }
        ])
      }
    }))

  it.effect("has malformed arguments as an object, for any tools", () =>
    Effect.gen(function*() {
      const call = { type: "tool-call" as const, id: "c", name: "ping", params: "{" }
      const [prompt] = yield* sent([{ role: "assistant", content: [call] }], Toolkit.make(Tool.make("ping")))
      assert.deepInclude(prompt?.[0], { input: { rawInvalidInput: "{" } })
    }))

  it.effect("a reason for a denial that is no text is not sent", () =>
    Effect.gen(function*() {
      const denied = { type: "execution-denied", reason: 7 }
      const result = { type: "tool-result" as const, id: "c", name: "t", isFailure: true, result: denied }
      const [prompt] = yield* sent([{ role: "tool", content: [result] }])
      assert.deepInclude(prompt?.[0], { output: { type: "execution-denied" } })
    }))

  it.effect("accepts a URL of any scheme, without a query to the model", () =>
    Effect.gen(function*() {
      const data = new URL("s3://bucket/x.png")
      const { calls, model } = v4({ content: text, supportedUrls: { "*": [/^s3:/] } })
      const prompt = withFile("image/png", data.href)
      yield* Effect.provide(LanguageModel.generateText({ prompt }), AiSdk.layer(model))
      assert.deepInclude(calls[0]?.prompt[0]?.content[0], { data: { type: "url", url: data } })
      const unable = { ...v4({ content: text }).model, supportedUrls: Promise.reject(new Error("unknown")) }
      unable.supportedUrls.catch(() => {})
      yield* Effect.provide(generate, AiSdk.layer(unable))
    }))

  it.effect("V3: a file of a result without a name has none", () =>
    Effect.gen(function*() {
      const file = { type: "file" as const, mediaType: "application/pdf", data: "AQID" }
      const result = {
        type: "tool-result" as const,
        id: "c",
        name: "t",
        isFailure: false,
        result: 1,
        modelOutput: [file]
      }
      const [, prompt] = yield* sent([{ role: "tool", content: [result as never] }])
      assert.deepStrictEqual((prompt?.[0] as { readonly output: unknown }).output, {
        type: "content",
        value: [{ type: "file-data", mediaType: "application/pdf", data: "AQID" }]
      })
    }))
})

describe("the decoded answer", () => {
  it.effect("has the provider's selected text instead of others, and all sources", () =>
    Effect.gen(function*() {
      const source = { type: "source" as const, sourceType: "url" as const, id: "s", url: "https://a.example/" }
      const { model } = v4({
        content: [{ type: "text", text: "draft" }, source],
        result: { structuredOutputText: `{"n":1}` }
      })
      const response = yield* LanguageModel.generateObject({ prompt: "Hi", schema: Schema.Struct({ n: Schema.Int }) })
        .pipe(
          Effect.provide(AiSdk.layer(model))
        )
      assert.deepStrictEqual(response.content.map(({ type }) => type), ["source", "text", "finish"])
      assert.strictEqual(response.text, `{"n":1}`)
    }))

  it.effect("has any known id, model, time, unnamed document and future result", () =>
    Effect.gen(function*() {
      const run = (result: Partial<LanguageModelV4GenerateResult>) =>
        LanguageModel.generateText({ prompt: "Hi", toolkit: Toolkit.make(Search), disableToolCallResolution: true })
          .pipe(
            Effect.map(({ content }) => content as ReadonlyArray<Response.AnyPart>),
            Effect.provide(AiSdk.layer(v4({ content: text, result }).model))
          )
      const time = new Date("2026-01-02T03:04:05.678Z")
      const cases: ReadonlyArray<
        readonly [NonNullable<LanguageModelV4GenerateResult["response"]>, object | undefined]
      > = [
        [{}, undefined],
        [{ headers: {} }, undefined],
        [{ id: "r" }, { id: "r" }],
        [{ modelId: "m" }, { modelId: "m" }],
        [{ timestamp: time }, { timestamp: time.toISOString() }],
        [{ timestamp: new Date(Number.NaN) }, {}]
      ]
      for (const [response, expected] of cases) {
        const part = (yield* run({ response })).find(({ type }) => type === "response-metadata")
        const { id, modelId, timestamp } = JSON.parse(JSON.stringify(part ?? {}))
        assert.deepStrictEqual(
          part && JSON.parse(JSON.stringify({ id, modelId, timestamp })),
          expected,
          JSON.stringify(response)
        )
      }
      const result = { type: "tool-result" as const, toolCallId: "c", toolName: "Search", result: 1 }
      const parts = yield* run({
        content: [
          { type: "source", sourceType: "document", id: "s", mediaType: "text/plain", title: "D" },
          { ...result, preliminary: true },
          { ...result, preliminary: false }
        ]
      })
      assert.notProperty(parts[0], "fileName")
      assert.deepStrictEqual(parts.slice(1, 3).map((part) => part.type === "tool-result" && part.preliminary), [
        true,
        false
      ])
    }))

  it.effect("is whole for another named finish reason; provider calls are marked", () =>
    Effect.gen(function*() {
      const start = (id: string, providerExecuted?: boolean) => ({
        type: "tool-input-start" as const,
        id,
        toolName: "Search",
        ...(providerExecuted === undefined ? undefined : { providerExecuted })
      })
      const { model } = v4({
        stream: [
          start("a", true),
          start("b", false),
          start("c"),
          { type: "finish", usage: finish.usage, finishReason: { unified: "other", raw: "safety" } }
        ]
      })
      const parts = yield* LanguageModel.streamText({
        prompt: "Hi",
        toolkit: Toolkit.make(Search),
        disableToolCallResolution: true
      }).pipe(Stream.runCollect, Effect.provide(AiSdk.layer(model)))
      assert.deepStrictEqual(
        [...parts].map((part) => part.type === "tool-params-start" ? part.providerExecuted : part.type),
        [true, false, false, "finish"]
      )
    }))

  it.effect("is a failure if empty without a finish reason", () =>
    Effect.gen(function*() {
      const other = (raw: string | undefined) => ({ finishReason: { unified: "other" as const, raw } })
      const cases: ReadonlyArray<readonly [Partial<LanguageModelV4GenerateResult>, boolean]> = [
        [other(undefined), false],
        [other("safety"), true],
        [{ content: text, ...other(undefined) }, true],
        [{ finishReason: { unified: "stop", raw: undefined } }, true]
      ]
      for (const [result, isAnswer] of cases) {
        const exit = yield* Effect.exit(Effect.provide(generate, AiSdk.layer(v4({ result }).model)))
        assert.strictEqual(exit._tag === "Success", isAnswer, JSON.stringify(result))
      }
    }))

  it.effect("is off the protocol for a page; other content is ignored", () =>
    Effect.gen(function*() {
      const cases: ReadonlyArray<readonly [Readonly<Record<string, string>> | undefined, boolean]> = [
        [{ "content-type": "text/html" }, false],
        [{ "x-a": "b", "Content-Type": " Text/HTML; charset=utf-8" }, false],
        [{ "content-type": "multipart/related; type=text/html" }, true],
        [{ "content-type": "text/html5" }, true],
        [{ "content-type": "text/event-stream" }, true],
        [{ "x-content-type": "text/html" }, true],
        [{}, true],
        [undefined, true]
      ]
      for (const [headers, isAnswer] of cases) {
        const { model } = v4({ stream: [finish] })
        const paged = {
          ...model,
          doStream: async (options: Parameters<typeof model.doStream>[0]) => ({
            ...await model.doStream(options),
            ...(headers === undefined ? undefined : { response: { headers } })
          })
        }
        const exit = yield* Effect.exit(
          Effect.provide(Stream.runDrain(LanguageModel.streamText({ prompt: "Hi" })), AiSdk.layer(paged))
        )
        assert.strictEqual(exit._tag === "Success", isAnswer, JSON.stringify(headers))
      }
    }))

  it.effect("arguments of calls: as the kind of tool has them", () =>
    Effect.gen(function*() {
      const Free = Tool.providerDefined({
        id: "p.free",
        customName: "Free",
        providerName: "free",
        parameters: Schema.Unknown,
        success: Schema.Unknown,
        requiresHandler: true
      })(undefined as never)
      const Described = Tool.dynamic("described", {
        parameters: { type: "object", properties: { n: { type: ["number", "null"] } } },
        success: Schema.Unknown
      }).annotate(Tool.Strict, true)
      const strictOf = (strict: boolean) =>
        Tool.make(strict ? "strict" : "lax", {
          parameters: Schema.Struct({ n: Schema.optionalKey(Schema.Int) }),
          success: Schema.Unknown
        }).annotate(Tool.Strict, strict)
      const cases: ReadonlyArray<readonly [tool: string, input: string, params: unknown]> = [
        ["Free", `"SELECT 1"`, "SELECT 1"],
        ["Free", "SELECT 1", "SELECT 1"],
        ["Free", "", ""],
        ["Free", `{"__proto__":1}`, `{"__proto__":1}`],
        ["described", `{"n":null}`, { n: null }],
        ["strict", `{"n":null}`, {}],
        ["lax", `{"n":null}`, { n: null }]
      ]
      const { model } = v4({
        provider: "openai.chat",
        content: cases.map(([toolName, input], index) => ({
          type: "tool-call",
          toolCallId: `c${index}`,
          toolName,
          input
        }))
      })
      const response = yield* LanguageModel.generateText({
        prompt: "Hi",
        toolkit: Toolkit.make(Free, Described, strictOf(true), strictOf(false)),
        disableToolCallResolution: true,
        toolCallValidation: "deferred"
      }).pipe(Effect.provide(AiSdk.layer(model)))
      assert.deepStrictEqual(
        response.toolCalls.map(({ params }): unknown => params),
        cases.map(([, , params]) => params)
      )
    }))
})

describe("the span and logs", () => {
  it.effect("have operation, end, and the answer's id", () =>
    Effect.gen(function*() {
      const { model } = v4({
        content: text,
        result: { response: { id: "r", modelId: "m" } },
        stream: [
          { type: "response-metadata", id: "r", modelId: "m" },
          { type: "text-start", id: "part" },
          { type: "text-delta", id: "part", delta: "ok" },
          { type: "text-end", id: "part" },
          finish
        ]
      })
      const spans: Array<Tracer.NativeSpan> = []
      const tracer = Tracer.make({
        span: (options) => {
          const span = new Tracer.NativeSpan(options)
          spans.push(span)
          return span
        }
      })
      yield* Effect.andThen(generate, Stream.runDrain(LanguageModel.streamText({ prompt: "Hi" }))).pipe(
        Effect.provide(AiSdk.layer(model)),
        Effect.withTracer(tracer)
      )
      assert.deepStrictEqual(
        spans.map(({ attributes }) => [
          attributes.get("gen_ai.operation.name"),
          attributes.get("gen_ai.response.id"),
          attributes.get("gen_ai.response.finish_reasons")
        ]),
        [["chat", "r", ["stop"]], ["chat", "r", ["tool-calls"]]]
      )
    }))

  it.effect("name omitted parts with their tools", () =>
    Effect.gen(function*() {
      const logged: Array<unknown> = []
      const { model } = v4({
        content: [
          { type: "tool-call", toolCallId: "m", toolName: "remote", input: "{}", providerExecuted: true },
          { type: "tool-result", toolCallId: "m", toolName: "remote", result: 1 }
        ]
      })
      yield* generate.pipe(
        Effect.provide([AiSdk.layer(model), Logger.layer([Logger.make(({ message }) => logged.push(message))])]),
        Effect.provideService(References.MinimumLogLevel, "All")
      )
      assert.deepInclude((logged[0] as ReadonlyArray<unknown>)[1], {
        content: ["tool-call of remote", "tool-result of remote"]
      })
    }))

  it.effect("are silent for a fully decoded answer", () =>
    Effect.gen(function*() {
      const logged: Array<unknown> = []
      yield* generate.pipe(
        Effect.provide([
          AiSdk.layer(v4({ content: text }).model),
          Logger.layer([Logger.make(({ message }) => logged.push(message))])
        ]),
        Effect.provideService(References.MinimumLogLevel, "All")
      )
      assert.deepStrictEqual(logged, [])
    }))
})

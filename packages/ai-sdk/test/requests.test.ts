/** A provider package's arguments, and the conversion of its whole answer, in tables. */

import { assert, describe, it } from "@effect/vitest"
import { AiSdk } from "@recourse/ai-sdk"
import { Effect, Schema, Stream } from "effect"
import { LanguageModel, type Prompt, Tool, Toolkit } from "effect/ai"
import { finish, v3, v4 } from "./support/models.ts"
import { generate, Search, text } from "./support/generatedAnswers.ts"

const withFile = (mediaType: string, url: string): Prompt.RawInput => [
  { role: "user", content: [{ type: "file", mediaType, data: new URL(url) }] }
]

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

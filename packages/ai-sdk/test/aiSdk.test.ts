import type { LanguageModelV4 } from "@ai-sdk/provider"
import { assert, describe, it } from "@effect/vitest"
import { AiSdk } from "@recourse/ai-sdk"
import { TestTracer } from "@recourse/testing"
import { Effect, Fiber, Latch, Logger, References, Schema, Stream } from "effect"
import { AnthropicStructuredOutput, LanguageModel, OpenAiStructuredOutput } from "effect/ai"
import { finish, v4 } from "./support/models.ts"

const text = [{ type: "text" as const, text: "ok" }]
const generate = LanguageModel.generateText({ prompt: "Hi" })

describe("options", () => {
  it.effect("those of a request override those of the layer, key by key", () =>
    Effect.gen(function*() {
      const { calls, model } = v4({ content: text, stream: [finish] })
      const layer = AiSdk.layer(model, {
        temperature: 1,
        maxOutputTokens: 10,
        reasoning: "low",
        headers: { a: "layer", b: "layer" },
        providerOptions: { openai: { user: "layer", store: false } }
      })
      const request: AiSdk.Options = {
        temperature: 0,
        stopSequences: ["END"],
        headers: { b: "request" },
        providerOptions: { openai: { user: "request" }, anthropic: { speed: "fast" } }
      }
      yield* generate.pipe(Effect.provide(layer))
      yield* generate.pipe(
        AiSdk.withOptions({ headers: { b: "inner" } }),
        AiSdk.withOptions(request),
        Effect.provide(layer)
      )
      yield* LanguageModel.streamText({ prompt: "Hi" }).pipe(
        Stream.provideService(AiSdk.CurrentOptions, request),
        Stream.runDrain,
        Effect.provide(layer)
      )
      const sent = calls.map(({ abortSignal: _a, prompt: _p, ...rest }) => rest)
      assert.deepStrictEqual(sent[0], {
        temperature: 1,
        maxOutputTokens: 10,
        reasoning: "low",
        headers: { a: "layer", b: "layer" },
        providerOptions: { openai: { user: "layer", store: false } }
      })
      const merged = {
        temperature: 0,
        maxOutputTokens: 10,
        reasoning: "low",
        stopSequences: ["END"],
        headers: { a: "layer", b: "request" },
        providerOptions: { openai: { user: "request", store: false }, anthropic: { speed: "fast" } }
      }
      assert.deepStrictEqual(sent[1], { ...merged, headers: { a: "layer", b: "inner" } } as never)
      assert.deepStrictEqual(sent[2], { ...merged, includeRawChunks: true } as never)
    }))

  it.effect("the dialect of schemas follows the provider's id, unless one is given", () =>
    Effect.gen(function*() {
      const schema = Schema.Struct({ n: Schema.optionalKey(Schema.Int) }).annotate({ description: "A number" })
      const run = Effect.fnUntraced(function*(provider: string, options?: AiSdk.ModelOptions) {
        const { calls, model } = v4({ content: [{ type: "text", text: `{}` }], provider })
        yield* Effect.ignore(
          LanguageModel.generateObject({ prompt: "Hi", schema }).pipe(Effect.provide(AiSdk.layer(model, options)))
        )
        const format = calls[0]?.responseFormat
        assert.deepInclude(format, { type: "json", name: "generateObject", description: "A number" })
        return format?.type === "json" ? format.schema : undefined
      })
      const openai = OpenAiStructuredOutput.toCodecOpenAI(schema).jsonSchema
      const anthropic = AnthropicStructuredOutput.toCodecAnthropic(schema).jsonSchema
      const plain = LanguageModel.defaultCodecTransformer(schema).jsonSchema
      assert.notDeepEqual(openai, anthropic)
      assert.deepStrictEqual(yield* run("openai.responses"), openai)
      assert.deepStrictEqual(yield* run("azure.chat"), openai)
      assert.deepStrictEqual(yield* run("anthropic.messages"), anthropic)
      assert.deepStrictEqual(yield* run("vertex.anthropic.messages"), anthropic)
      assert.deepStrictEqual(yield* run("google.generative-ai"), plain)
      assert.deepStrictEqual(
        yield* run("google.generative-ai", { codecTransformer: OpenAiStructuredOutput.toCodecOpenAI }),
        openai
      )
    }))
})

describe("interruption", () => {
  it.effect("aborts the call, and a stream that is not read completely", () =>
    Effect.gen(function*() {
      const called = Latch.makeUnsafe(false)
      const signals: Array<AbortSignal | undefined> = []
      const { model } = v4({})
      const hanging: LanguageModelV4 = {
        ...model,
        doGenerate: (options) => {
          signals.push(options.abortSignal)
          called.openUnsafe()
          return new Promise(() => {})
        },
        doStream: async (options) => {
          signals.push(options.abortSignal)
          return {
            stream: new ReadableStream({
              start: (controller) => {
                controller.enqueue({ type: "text-start", id: "t" })
              }
            })
          }
        }
      }
      const layer = AiSdk.layer(hanging)
      const fiber = yield* Effect.forkChild(generate.pipe(Effect.provide(layer)))
      yield* called.await
      assert.isFalse(signals[0]?.aborted)
      yield* Fiber.interrupt(fiber)
      assert.isTrue(signals[0]?.aborted)

      yield* LanguageModel.streamText({ prompt: "Hi" }).pipe(
        Stream.tap(() => Effect.sync(() => assert.isFalse(signals[1]?.aborted))),
        Stream.take(1),
        Stream.runDrain,
        Effect.provide(layer)
      )
      assert.isTrue(signals[1]?.aborted)
    }))
})

describe("observability", () => {
  it.effect("warnings and unmapped parts are logged at debug", () =>
    Effect.gen(function*() {
      const warning = { type: "unsupported", feature: "seed" } as const
      const { model } = v4({
        content: [...text, { type: "custom", kind: "openai.thing" }],
        result: { warnings: [warning] },
        stream: [{ type: "stream-start", warnings: [warning] }, { type: "custom", kind: "openai.thing" }, finish]
      })
      const logged: Array<readonly [string, unknown]> = []
      const run = (level: "Debug" | "Info") =>
        Effect.andThen(generate, Stream.runDrain(LanguageModel.streamText({ prompt: "Hi" }))).pipe(
          Effect.provide([
            AiSdk.layer(model),
            Logger.layer([Logger.make((entry) => logged.push([entry.logLevel, entry.message]))])
          ]),
          Effect.provideService(References.MinimumLogLevel, level)
        )
      yield* run("Info")
      assert.deepStrictEqual(logged, [])
      yield* run("Debug")
      const where = { provider: "test", model: "test-1" }
      const once = [
        ["Debug", ["AI SDK warning", { ...where, ...warning }]],
        ["Debug", ["Content without a part in effect/ai was left out", { ...where, content: ["custom"] }]]
      ]
      assert.deepStrictEqual(logged, [...once, ...once] as never)
    }))

  it.effect("the span has the attributes of OpenTelemetry for generative AI", () =>
    Effect.gen(function*() {
      const { model } = v4({
        content: text,
        result: { response: { id: "r", modelId: "test-1-2026" } },
        stream: [{ type: "response-metadata", id: "r", modelId: "test-1-2026" }, finish]
      })
      const spans = yield* Effect.andThen(generate, Stream.runDrain(LanguageModel.streamText({ prompt: "Hi" }))).pipe(
        Effect.provide(AiSdk.layer(model, { temperature: 0.5 })),
        Effect.andThen(Effect.flatMap(TestTracer.TestTracer, ({ spans }) => spans)),
        Effect.provide(TestTracer.layer)
      )
      assert.lengthOf(spans, 2)
      for (const span of spans) {
        assert.deepInclude(Object.fromEntries(span.attributes), {
          "gen_ai.provider.name": "test",
          "gen_ai.request.model": "test-1",
          "gen_ai.request.temperature": 0.5,
          "gen_ai.response.id": "r",
          "gen_ai.response.model": "test-1-2026",
          "gen_ai.usage.input_tokens": 5,
          "gen_ai.usage.output_tokens": 7
        })
      }
    }))
})

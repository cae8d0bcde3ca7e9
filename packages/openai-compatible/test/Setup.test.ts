import { assert, describe, it } from "@effect/vitest"
import { OpenAiCompatible, Presets } from "@recourse/openai-compatible"
import { ConfigProvider, Effect, Layer, Redacted } from "effect"
import { LanguageModel } from "effect/ai"
import { FetchHttpClient } from "effect/http"
import { key } from "./Harness.ts"
import * as Server from "./Server.ts"

const setup = (options: OpenAiCompatible.Options) =>
  OpenAiCompatible.make(options).pipe(Effect.flip, Effect.provide(FetchHttpClient.layer))

const redacted = Redacted.make(key)

describe("options that cannot work", () => {
  it.effect("no key, where the preset needs one", () =>
    Effect.gen(function*() {
      for (const apiKey of [undefined, Redacted.make(""), Redacted.make("  ")]) {
        const error = yield* setup({ preset: "openai", model: "m", apiKey })
        assert.strictEqual(error._tag, "MissingApiKey")
        assert.include(error.message, "OPENAI_API_KEY")
      }
    }))

  it.effect("a key that is none, which is not shown", () =>
    Effect.gen(function*() {
      const error = yield* setup({ preset: "openai", model: "m", apiKey: Redacted.make(`${key}\nx`) })
      assert.strictEqual(error._tag, "InvalidApiKey")
      assert.notInclude(error.message, key)
    }))

  it.effect("an unknown preset", () =>
    Effect.gen(function*() {
      for (const preset of ["opnai", "constructor", "__proto__"]) {
        const error = yield* setup({ preset, model: "m", apiKey: redacted })
        assert.strictEqual(error._tag, "UnknownPreset")
        assert.include(error.message, "ollama")
      }
    }))

  it.effect("a base URL that is not one, which is not shown: it may be a key", () =>
    Effect.gen(function*() {
      const problems = {
        [key]: "not-a-url",
        "localhost:11434": "not-http",
        "file:///etc/passwd": "not-http",
        [`https://user:${key}@example.com/v1`]: "credentials"
      }
      for (const [baseUrl, problem] of Object.entries(problems)) {
        const error = yield* setup({ baseUrl, model: "m" })
        assert.strictEqual<unknown>(error._tag === "InvalidBaseUrl" && error.problem, problem)
        assert.notInclude(error.message, key)
        assert.notInclude(JSON.stringify(error), key)
      }
      const missing = yield* setup({ model: "m" })
      assert.strictEqual(missing._tag === "InvalidBaseUrl" && missing.problem, "missing")
    }))

  it.effect("no model", () =>
    Effect.gen(function*() {
      const error = yield* setup({ preset: "ollama", model: " " })
      assert.strictEqual(error._tag, "MissingModel")
    }))
})

describe("layerConfig", () => {
  const run = (env: Record<string, string>, options: Parameters<typeof OpenAiCompatible.layerConfig>[0] = {}) =>
    LanguageModel.generateText({ prompt: "Hello" }).pipe(
      Effect.provide(
        OpenAiCompatible.layerConfig(options).pipe(
          Layer.provide(FetchHttpClient.layer),
          Layer.provide(ConfigProvider.layer(ConfigProvider.fromUnknown(env)))
        )
      )
    )

  it.effect("reads preset, base URL, model and key", () =>
    Effect.gen(function*() {
      const server = yield* Server.make(Server.completion({ content: "ok" }))
      yield* run({
        LLM_PRESET: "openai",
        LLM_BASE_URL: server.url,
        LLM_MODEL: "m",
        LLM_API_KEY: "a",
        OPENAI_API_KEY: "b"
      })
      yield* run({ LLM_PRESET: "openai", LLM_BASE_URL: server.url, LLM_MODEL: "m", OPENAI_API_KEY: "b" })
      yield* run({ MY_BASE_URL: server.url, MY_MODEL: "m", LLM_API_KEY: "c" }, { prefix: "MY" })
      yield* run({ LLM_BASE_URL: "http://127.0.0.1:1", LLM_MODEL: "m", LLM_API_KEY: "" }, {
        baseUrl: server.url,
        model: "n",
        temperature: 0
      })
      assert.deepStrictEqual(
        server.requests.map(({ body, headers }) => [body.model, headers.authorization, body.temperature]),
        [["m", "Bearer a", undefined], ["m", "Bearer b", undefined], ["m", undefined, undefined], ["n", undefined, 0]]
      )
    }))

  it.effect("fails with what is missing", () =>
    Effect.gen(function*() {
      const model = yield* Effect.flip(run({ LLM_PRESET: "ollama" }))
      assert.strictEqual(model._tag, "MissingModel")
      const server = yield* Effect.flip(run({ LLM_MODEL: "m" }))
      assert.strictEqual(server._tag, "InvalidBaseUrl")
      const key = yield* Effect.flip(run({ LLM_PRESET: "groq", LLM_MODEL: "m" }))
      assert.strictEqual(key._tag, "MissingApiKey")
    }))
})

describe("presets", () => {
  it.effect("can all be made", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(
        Presets.names.toSorted(),
        [
          "deepseek",
          "gemini",
          "groq",
          "llamacpp",
          "lmstudio",
          "mistral",
          "moonshot",
          "ollama",
          "openai",
          "openrouter",
          "perplexity",
          "vllm"
        ]
      )
      for (const preset of Presets.names) yield* OpenAiCompatible.make({ preset, model: "m", apiKey: redacted })
    }).pipe(Effect.provide(FetchHttpClient.layer)))

  it.effect("are followed on the wire: Mistral", () =>
    Effect.gen(function*() {
      const server = yield* Server.make(Server.completion({ content: "ok" }))
      yield* LanguageModel.generateText({ prompt: "Hello" }).pipe(
        Effect.provide(
          OpenAiCompatible.layer({
            preset: "mistral",
            baseUrl: `${server.url}/chat/completions?x=1`,
            model: "m",
            apiKey: redacted,
            maxTokens: 5
          }).pipe(Layer.provide(FetchHttpClient.layer))
        )
      )
      assert.strictEqual(server.requests[0]?.path, "/v1/chat/completions?x=1")
      assert.strictEqual(server.requests[0]?.body.max_tokens, 5)
    }))
})

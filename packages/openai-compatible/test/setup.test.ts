import { assert, describe, it } from "@effect/vitest"
import { OpenAiCompatible, Presets } from "@recourse/openai-compatible"
import { ConfigProvider, Effect, Layer, Redacted } from "effect"
import { LanguageModel } from "effect/ai"
import { FetchHttpClient } from "effect/http"
import { key } from "./support/harness.ts"
import * as Server from "./support/server.ts"

const setup = (options: OpenAiCompatible.Options) =>
  OpenAiCompatible.make(options).pipe(Effect.flip, Effect.provide(FetchHttpClient.layer))

const redacted = Redacted.make(key)

describe("options that cannot work", () => {
  it.effect("refuses a missing key, if the preset needs one", () =>
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
        const error = yield* setup({ preset: preset as Presets.Name, model: "m", apiKey: redacted })
        assert.strictEqual(error._tag, "UnknownPreset")
        assert.include(error.message, "ollama")
      }
    }))

  it.effect("names the package for a provider with an API of its own", () =>
    Effect.gen(function*() {
      const sentences = [
        yield* Effect.flip(OpenAiCompatible.make({ preset: "anthropic" as "openai", model: "claude-sonnet-5" })),
        yield* Effect.flip(OpenAiCompatible.make({ preset: "openai", model: "claude-sonnet-5", apiKey: redacted }))
      ]
      for (const { message } of sentences) assert.include(message, "AiSdk.layer of @recourse/ai-sdk")
    }).pipe(Effect.provide(FetchHttpClient.layer)))

  it.effect("refuses an invalid base URL, shown unless it may be a key", () =>
    Effect.gen(function*() {
      const says: Record<string, RegExp> = {
        "not-a-url": /is not a URL/,
        "not-http": /is neither http nor https/,
        credentials: /holds a user name/
      }
      const problems = {
        [key]: "not-a-url",
        "localhost:11434": "not-http",
        "file:///etc/passwd": "not-http",
        [`https://user:${key}@example.com/v1`]: "credentials",
        "https://user@example.com/v1": "credentials",
        [`https://:${key}@example.com/v1`]: "credentials"
      }
      for (const [baseUrl, problem] of Object.entries(problems)) {
        const error = yield* setup({ baseUrl, model: "m" })
        assert.strictEqual<unknown>(error._tag === "InvalidBaseUrl" && error.problem, problem)
        assert.match(error.message, says[problem]!)
        assert.notInclude(error.message, key)
        assert.notInclude(JSON.stringify(error), key)
      }
      const shown = yield* setup({ baseUrl: "api.example.com/v1", model: "m" })
      assert.include(shown.message, "The base URL \"api.example.com/v1\" is not a URL")
      const missing = yield* setup({ model: "m" })
      assert.strictEqual(missing._tag === "InvalidBaseUrl" && missing.problem, "missing")
      assert.strictEqual(missing.message, "No server is given: pass preset or baseUrl.")
    }))

  it.effect("no model", () =>
    Effect.gen(function*() {
      const error = yield* setup({ preset: "ollama", model: " " })
      assert.strictEqual(error._tag, "MissingModel")
      assert.include(error.message, "No model is given: set model, ")
    }))
})

describe("models that cannot be there", () => {
  it.effect("refuses another maker's model at a single-maker server", () =>
    Effect.gen(function*() {
      const foreign = [["openai", "claude-sonnet-4-5"], ["gemini", "gpt-5"], ["mistral", "gemini-2.5-pro"], [
        "openai",
        "sonar"
      ]]
      foreign.push(
        ["openai", "anthropic/claude-sonnet-4-5"],
        ["openai", "anthropic.claude-sonnet-4-5-v1:0"],
        ["openai", "proxy/Claude-sonnet-4-5"],
        ["gemini", "openai/gpt-5"],
        ["mistral", "meta-llama/llama-3.3-70b"]
      )
      for (const [preset = "", model = ""] of foreign) {
        const error = yield* setup({ preset: preset as Presets.Name, model, apiKey: redacted })
        assert.strictEqual(error._tag, "ForeignModel")
        assert.include(error.message, `"${model}" is a model of `)
      }
    }))

  it.effect("but its own, new names, and servers that have everybody's", () =>
    Effect.gen(function*() {
      const fine = [
        ["openai", "gpt-5"],
        ["openai", "ft:gpt-4.1:acme::1"],
        ["deepseek", "deepseek-ai/DeepSeek-V3"],
        [
          "openrouter",
          "anthropic/claude-sonnet-4-5"
        ],
        ["openai", "newest"],
        ["groq", "gpt-oss-120b"],
        [
          "openrouter",
          "claude-sonnet-4-5"
        ]
      ]
      for (
        const [preset = "", model = ""] of [...fine, ["gemini", "models/gemini-2.5-pro"], ["ollama", "deepseek-r1"]]
      ) {
        yield* OpenAiCompatible.make({ preset: preset as Presets.Name, model, apiKey: redacted }).pipe(
          Effect.provide(FetchHttpClient.layer)
        )
      }
      const proxied = {
        preset: "openai" as const,
        baseUrl: "https://proxy.example.com/v1",
        model: "claude-x",
        apiKey: redacted
      }
      yield* OpenAiCompatible.make(proxied).pipe(Effect.provide(FetchHttpClient.layer))
    }))

  const json = (body: unknown, status = 200): Server.Reply => ({
    status,
    headers: { "content-type": "application/json" },
    chunks: [JSON.stringify(body)]
  })
  const listing = (...ids: ReadonlyArray<string>) => json({ object: "list", data: ids.map((id) => ({ id })) })
  const checked = (reply: Server.Reply, model: string) =>
    Effect.gen(function*() {
      const server = yield* Server.make(reply)
      const made = yield* OpenAiCompatible.make({ baseUrl: server.url, model, apiKey: redacted, checkModel: true })
        .pipe(
          Effect.provide(FetchHttpClient.layer),
          Effect.as("made"),
          Effect.catchTag("UnknownModel", (error) => Effect.succeed(error.message))
        )
      return { made, asked: server.requests.map(({ headers, path }) => [path, headers.authorization]) }
    })

  it.live("a model that the server does not list", () =>
    Effect.gen(function*() {
      const { asked, made } = yield* checked(listing("qwen3:latest", "llama3.2"), "qwen4")
      assert.strictEqual(made, "The server lists no model \"qwen4\": use one of qwen3:latest, llama3.2.")
      assert.deepStrictEqual(asked.map(([path]) => path?.endsWith("/models")), [true])
      assert.strictEqual(asked[0]?.[1], `Bearer ${key}`)
    }))

  it.live("among many, of which ten are named", () =>
    Effect.gen(function*() {
      const ids = Array.from({ length: 12 }, (_, index) => `m${index}`)
      const { made } = yield* checked(listing(...ids), "x")
      assert.match(made, /use one of m0, .*, m9, and 2 more\.$/)
      assert.match((yield* checked(listing(...ids.slice(0, 10)), "x")).made, /, m9\.$/)
      for (const [listed, model] of [["a-models/x", "a-x"], ["a:b/c", "a/c"]] as const) {
        assert.include((yield* checked(listing(listed), model)).made, "lists no model")
      }
    }))

  it.live("accept listed names in any spelling, and all without a list", () =>
    Effect.gen(function*() {
      for (
        const [listed, model] of [["qwen3:latest", "qwen3"], ["models/gemini-x", "gemini-x"], [
          "a/b",
          "a/b:free"
        ]] as const
      ) {
        assert.strictEqual((yield* checked(listing("other", listed), model)).made, "made")
      }
      for (
        const reply of [
          listing(),
          json({}),
          json({ error: "x" }, 404),
          json({ data: [{ id: "other" }] }, 300),
          json({ data: [{}] }),
          { close: "reset" } as const
        ]
      ) {
        assert.strictEqual((yield* checked(reply, "m")).made, "made")
      }
    }))

  it.live("and no list is asked for unless it is to be", () =>
    Effect.gen(function*() {
      const server = yield* Server.make(listing("other"))
      yield* OpenAiCompatible.make({ baseUrl: server.url, model: "m" }).pipe(Effect.provide(FetchHttpClient.layer))
      assert.strictEqual(server.requests.length, 0)
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

  it.effect("fails with the missing parts", () =>
    Effect.gen(function*() {
      const model = yield* Effect.flip(run({ LLM_PRESET: "ollama" }))
      assert.strictEqual(model._tag, "MissingModel")
      assert.include(model.message, "LLM_MODEL")
      const server = yield* Effect.flip(run({ LLM_MODEL: "m" }))
      assert.strictEqual(server._tag, "InvalidBaseUrl")
      assert.include(server.message, "LLM_PRESET or LLM_BASE_URL")
      const key = yield* Effect.flip(run({ LLM_PRESET: "groq", LLM_MODEL: "m" }))
      assert.strictEqual(key._tag, "MissingApiKey")
      assert.include(key.message, "LLM_API_KEY or GROQ_API_KEY")
      const mine = yield* Effect.flip(run({ MY_PRESET: "groq" }, { prefix: "MY" }))
      assert.include(mine.message, "MY_MODEL")
      const preset = yield* Effect.flip(run({ LLM_PRESET: "nobody", LLM_MODEL: "m" }))
      assert.strictEqual(preset._tag, "UnknownPreset")
      const url = yield* Effect.flip(run({ LLM_BASE_URL: "nowhere", LLM_MODEL: "m" }))
      assert.deepInclude(url, { _tag: "InvalidBaseUrl", problem: "not-a-url" })
      assert.notProperty(url, "variables")
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

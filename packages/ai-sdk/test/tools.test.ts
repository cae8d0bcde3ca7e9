import { assert, describe, it } from "@effect/vitest"
import { AiSdk } from "@recourse/ai-sdk"
import { Effect, Schema } from "effect"
import { LanguageModel, Tool, Toolkit } from "effect/ai"
import { v4 } from "./support/models.ts"

const Search = Tool.make("search", {
  description: "Searches",
  parameters: Schema.Struct({ query: Schema.String, limit: Schema.optionalKey(Schema.Int) }),
  success: Schema.Unknown
})

const Strict = Tool.make("strict", {
  description: "Searches",
  parameters: Search.parametersSchema,
  success: Schema.Unknown
}).annotate(Tool.Strict, true)

const Ping = Tool.make("ping", { success: Schema.Unknown })

const Bare = Tool.make("bare", { parameters: Schema.Struct({}), success: Schema.Unknown }).annotate(Tool.Strict, true)

const options = { disableToolCallResolution: true, toolCallValidation: "deferred" } as const

const call = (toolName: string, input: string, toolCallId = "c") => ({
  type: "tool-call" as const,
  toolCallId,
  toolName,
  input
})

describe("tools", () => {
  it.effect("functions, with strictness and provider options, and tools of the provider", () =>
    Effect.gen(function*() {
      const WebSearch = Tool.providerDefined({
        id: "openai.web_search",
        customName: "WebSearch",
        providerName: "web_search",
        args: Schema.Struct({ searchContextSize: Schema.optionalKey(Schema.String) }),
        success: Schema.Unknown
      })({ searchContextSize: "low" })
      const Dynamic = Tool.dynamic("dynamic", {
        parameters: { type: "object", properties: { x: { type: "number" } } },
        success: Schema.Unknown
      }).annotate(Tool.Strict, true)
      const { calls, model } = v4({ provider: "openai.chat" })
      yield* LanguageModel.generateText({
        prompt: "Hi",
        toolkit: Toolkit.make(
          Search,
          Strict,
          Bare,
          Ping.annotate(Tool.Strict, false).annotate(AiSdk.ToolProviderOptions, {
            anthropic: { cacheControl: { type: "ephemeral" } }
          }),
          WebSearch,
          Dynamic
        ),
        ...options
      }).pipe(Effect.provide(AiSdk.layer(model)))
      const integer = { type: "integer" as const, minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER }
      assert.deepStrictEqual(calls[0]?.tools, [
        {
          type: "function",
          name: "search",
          description: "Searches",
          inputSchema: {
            type: "object",
            properties: { query: { type: "string" }, limit: integer },
            required: ["query"],
            additionalProperties: false
          }
        } as never,
        {
          type: "function",
          name: "strict",
          description: "Searches",
          strict: true,
          inputSchema: {
            type: "object",
            properties: { query: { type: "string" }, limit: { anyOf: [integer, { type: "null" }] } },
            required: ["query", "limit"],
            additionalProperties: false
          }
        },
        {
          type: "function",
          name: "bare",
          strict: true,
          inputSchema: { type: "object", properties: {}, required: [], additionalProperties: false }
        },
        {
          type: "function",
          name: "ping",
          strict: false,
          inputSchema: { type: "object", properties: {}, additionalProperties: false },
          providerOptions: { anthropic: { cacheControl: { type: "ephemeral" } } }
        },
        { type: "provider", id: "openai.web_search", name: "WebSearch", args: { searchContextSize: "low" } },
        {
          type: "function",
          name: "dynamic",
          strict: true,
          inputSchema: { type: "object", properties: { x: { type: "number" } } }
        }
      ])
      assert.deepStrictEqual(calls[0]?.toolChoice, { type: "auto" })
    }))

  it.effect("tool choice", () =>
    Effect.gen(function*() {
      const { calls, model } = v4({})
      const run = (toolChoice: LanguageModel.ToolChoice<"search" | "ping">) =>
        LanguageModel.generateText({ prompt: "Hi", toolkit: Toolkit.make(Search, Ping), toolChoice, ...options })
      yield* Effect.forEach(
        [
          "none",
          "required",
          { tool: "ping" },
          { oneOf: ["ping"] },
          { mode: "required", oneOf: ["ping"] }
        ] as const,
        run,
        { discard: true }
      ).pipe(Effect.provide(AiSdk.layer(model)))
      assert.deepStrictEqual(calls.map((call) => [call.toolChoice, call.tools?.map((tool) => tool.name)]), [
        [{ type: "none" }, ["search", "ping"]],
        [{ type: "required" }, ["search", "ping"]],
        [{ type: "tool", toolName: "ping" }, ["search", "ping"]],
        [{ type: "auto" }, ["ping"]],
        [{ type: "required" }, ["ping"]]
      ])
    }))

  it.effect("no toolkit: neither tools nor a choice", () =>
    Effect.gen(function*() {
      const { calls, model } = v4({})
      yield* LanguageModel.generateText({ prompt: "Hi" }).pipe(Effect.provide(AiSdk.layer(model)))
      assert.notProperty(calls[0], "tools")
      assert.notProperty(calls[0], "toolChoice")
      assert.notProperty(calls[0], "responseFormat")
    }))

  it.effect("arguments: parsed strictly, else their text; blank and null are no arguments", () =>
    Effect.gen(function*() {
      const { model } = v4({
        content: [
          call("search", `{"query":"x"}`, "c1"),
          call("search", `{"query":"x"`, "c2"),
          call("search", `{"__proto__":{"a":1}}`, "c3"),
          call("search", `{"query":"x","query":"y"}`, "c4"),
          call("search", "", "c5"),
          call("search", "null", "c6"),
          call("ping", "", "c7"),
          call("ping", "null", "c8"),
          call("ping", "{}", "c9"),
          call("ping", "{", "c10"),
          call("nonesuch", "", "c11")
        ]
      })
      const response = yield* LanguageModel.generateText({
        prompt: "Hi",
        toolkit: Toolkit.make(Search, Ping),
        ...options
      }).pipe(Effect.provide(AiSdk.layer(model)))
      assert.deepStrictEqual(response.toolCalls.map((call): unknown => call.params), [
        { query: "x" },
        `{"query":"x"`,
        `{"__proto__":{"a":1}}`,
        `{"query":"x","query":"y"}`,
        {},
        {},
        {},
        {},
        {},
        "{",
        {}
      ])
    }))

  it.effect("arguments of a strict tool come back from the provider's dialect", () =>
    Effect.gen(function*() {
      const { model } = v4({
        provider: "openai.chat",
        content: [
          call("strict", `{"query":"x","limit":null}`),
          call("strict", `{"query":"x","limit":5}`),
          call("strict", `{"query":null,"limit":null}`)
        ]
      })
      const response = yield* LanguageModel.generateText({
        prompt: "Hi",
        toolkit: Toolkit.make(Strict),
        ...options
      }).pipe(Effect.provide(AiSdk.layer(model)))
      assert.deepStrictEqual(response.toolCalls.map((call): unknown => call.params), [
        { query: "x" },
        { query: "x", limit: 5 },
        // not allowed by the schema: left for the tool to refuse
        { query: null, limit: null }
      ])
    }))

  it.effect("a schema that the dialect cannot express fails before any request", () =>
    Effect.gen(function*() {
      const { calls, model } = v4({ provider: "openai.chat" })
      const toolkit = Toolkit.make(
        Tool.make("either", {
          parameters: Schema.Union([Schema.Struct({ a: Schema.String }), Schema.Struct({ b: Schema.String })]) as never,
          success: Schema.Unknown
        }).annotate(Tool.Strict, true)
      )
      const error = yield* Effect.flip(LanguageModel.generateText({ prompt: "Hi", toolkit, ...options })).pipe(
        Effect.provide(AiSdk.layer(model))
      )
      assert.strictEqual((error as { reason: { _tag: string } }).reason._tag, "UnsupportedSchemaError")
      assert.lengthOf(calls, 0)
    }))
})

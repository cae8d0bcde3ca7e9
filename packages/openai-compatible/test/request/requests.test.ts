import { assert, describe, it } from "@effect/vitest"
import { OpenAiCompatible } from "@recourse/openai-compatible"
import { Effect, Schema, Stream } from "effect"
import { LanguageModel, Tool, Toolkit } from "effect/ai"
import { generate, key, model, Parse, stream } from "../support/harness.ts"
import * as Server from "../support/server.ts"
import { bodyOf, history, ok } from "../support/requestBodies.ts"

describe("a request", () => {
  it.effect("goes to /chat/completions with only the key and requested fields", () =>
    Effect.gen(function*() {
      const server = yield* Server.make(ok)
      yield* generate().pipe(Effect.provide(model(`${server.url}/`, { headers: { "x-title": "test" } })))
      const [request] = server.requests
      assert.strictEqual(request?.path, "/v1/chat/completions")
      assert.strictEqual(request?.headers.authorization, `Bearer ${key}`)
      assert.strictEqual(request?.headers["x-title"], "test")
      assert.strictEqual(request?.headers["content-type"], "application/json")
      assert.deepStrictEqual(request?.body, {
        model: "test-model",
        messages: [{ role: "user", content: "Hello" }],
        tools: [
          {
            type: "function",
            function: {
              name: "parse",
              description: "Count the keys",
              parameters: {
                type: "object",
                properties: { json: { type: "string" } },
                required: ["json"],
                additionalProperties: false
              }
            }
          },
          {
            type: "function",
            function: { name: "now", parameters: { type: "object", properties: {}, additionalProperties: false } }
          }
        ],
        tool_choice: "auto"
      })
    }))

  it.effect("without tools has no tools field, without a key no authorization", () =>
    Effect.gen(function*() {
      const server = yield* Server.make(ok)
      yield* LanguageModel.generateText({ prompt: "Hello" }).pipe(
        Effect.provide(model(server.url, { apiKey: undefined }))
      )
      assert.deepStrictEqual(server.requests[0]?.body, {
        model: "test-model",
        messages: [{ role: "user", content: "Hello" }]
      })
      assert.isUndefined(server.requests[0]?.headers.authorization)
    }))

  it.effect("for a stream asks for the usage, unless the server refuses that", () =>
    Effect.gen(function*() {
      const reply = { chunks: [Server.chunk({ content: "Hi" }, "stop"), Server.done] }
      const body = yield* bodyOf(Stream.runDrain(stream()), {}, reply)
      assert.strictEqual(body.stream, true)
      assert.deepStrictEqual(body.stream_options, { include_usage: true })
      const plain = yield* bodyOf(Stream.runDrain(stream()), { quirks: { streamUsage: false } }, reply)
      assert.strictEqual(plain.stream, true)
      assert.notProperty(plain, "stream_options")
    }))

  it.effect("defines each tool by its schema, or says which one has none", () =>
    Effect.gen(function*() {
      interface Tree {
        readonly of: ReadonlyArray<Tree>
      }
      const Tree: Schema.Codec<Tree> = Schema.Struct({ of: Schema.Array(Schema.suspend(() => Tree)) })
        .annotate({ identifier: "Tree" }) as never
      const dynamic = { type: "object", properties: { a: { type: "string" } } } as const
      const ask = (...given: ReadonlyArray<Tool.Any>) =>
        LanguageModel.generateText({
          prompt: "Hello",
          toolkit: Toolkit.make(...given as never) as unknown as typeof Toolkit.empty,
          disableToolCallResolution: true
        })
      const { tools } = yield* bodyOf(ask(
        Tool.make("exact", { parameters: Schema.Struct({ tree: Tree }) }).annotate(Tool.Strict, true),
        Tool.make("loose").annotate(Tool.Strict, false),
        Tool.dynamic("given", { parameters: dynamic }),
        Tool.dynamic("schema", { parameters: Schema.Struct({ a: Schema.String }) })
      ))
      const [exact, loose, given, schema] = tools.map(({ function: one }: { function: object }) => one)
      assert.strictEqual(exact.strict, true)
      assert.property(exact.parameters.$defs, "Tree")
      assert.deepStrictEqual(loose, {
        name: "loose",
        parameters: { type: "object", properties: {}, additionalProperties: false }
      })
      assert.deepStrictEqual(given.parameters, dynamic)
      assert.deepStrictEqual(schema.parameters.properties, { a: { type: "string" } })

      const server = yield* Server.make(ok)
      const theirs = Tool.providerDefined(
        { id: "openai.web_search", customName: "Search", providerName: "search", args: Schema.Struct({}) } as never
      ) as unknown as (args: object) => Tool.Any
      const lazy = Schema.suspend((): Schema.Codec<string> => {
        throw new Error("not there")
      })
      const schemaless = Tool.make("odd", { parameters: Schema.Struct({ lazy }) })
      for (
        const [tool, name, says] of [[theirs({}), "Search", "provider-defined"], [
          schemaless,
          "odd",
          "not there"
        ]] as const
      ) {
        const error = yield* Effect.flip(Effect.asVoid(ask(tool))).pipe(Effect.provide(model(server.url)))
        assert.deepInclude((error as { readonly reason: object }).reason, {
          _tag: "ToolConfigurationError",
          toolName: name
        })
        assert.include(String(error), says)
      }
      assert.strictEqual(server.requests.length, 0)
    }))

  it.effect("carries quirks", () =>
    Effect.gen(function*() {
      const body = yield* bodyOf(generate(history), {
        maxTokens: 7,
        quirks: {
          systemRole: "developer",
          maxTokensField: "max_completion_tokens",
          invalidArguments: "raw",
          reasoningHistory: "reasoning_content",
          toolCallId: "nine-alphanumerics"
        }
      })
      assert.deepStrictEqual(body.messages[0], { role: "developer", content: "Be brief." })
      assert.strictEqual(body.max_completion_tokens, 7)
      const [, , calling, first, second, closing] = body.messages
      assert.strictEqual(calling.tool_calls[1].function.arguments, "{json: 1")
      assert.strictEqual(calling.reasoning_content, "Let me see.")
      assert.notProperty(closing, "reasoning_content")
      assert.match(first.tool_call_id, /^[A-Za-z0-9]{9}$/)
      assert.strictEqual(calling.tool_calls[0].id, first.tool_call_id)
      assert.strictEqual(calling.tool_calls[1].id, second.tool_call_id)
      assert.notStrictEqual(first.tool_call_id, second.tool_call_id)
    }))

  const choices: ReadonlyArray<
    readonly [LanguageModel.ToolChoice<"parse" | "now">, Partial<OpenAiCompatible.Quirks>, unknown, number]
  > = [
    ["none", {}, "none", 2],
    ["required", {}, "required", 2],
    ["required", { requiredToolChoice: "any" }, "any", 2],
    ["required", { requiredToolChoice: "auto" }, "auto", 2],
    [{ tool: "parse" }, {}, { type: "function", function: { name: "parse" } }, 2],
    [{ tool: "parse" }, { requiredToolChoice: "auto" }, "auto", 2],
    [{ oneOf: ["now"] }, {}, "auto", 1],
    [{ oneOf: ["now"], mode: "required" }, {}, "required", 1]
  ]

  for (const [toolChoice, quirks, expected, count] of choices) {
    it.effect(`has the tool choice ${JSON.stringify(toolChoice)} as ${JSON.stringify(expected)}`, () =>
      Effect.gen(function*() {
        const body = yield* bodyOf(
          LanguageModel.generateText({
            prompt: "Hello",
            toolkit: Toolkit.make(Parse, Tool.make("now")),
            toolChoice,
            disableToolCallResolution: true
          }),
          { quirks }
        )
        assert.deepStrictEqual(body.tool_choice, expected)
        assert.strictEqual(body.tools.length, count)
      }))
  }

  it.effect("has the client's settings, and those of one request over them", () =>
    Effect.gen(function*() {
      const server = yield* Server.make(ok)
      yield* Effect.gen(function*() {
        yield* generate()
        yield* generate().pipe(
          OpenAiCompatible.withConfigOverride({ seed: 2, stop: undefined, body: { c: 3 } }),
          OpenAiCompatible.withConfigOverride({ temperature: 1, seed: 1, model: "other", body: { b: 2 } })
        )
        yield* generate()
      }).pipe(
        Effect.provide(
          model(server.url, {
            temperature: 0.5,
            topP: 0.9,
            maxTokens: 100,
            stop: ["x"],
            parallelToolCalls: false,
            reasoningEffort: "low",
            body: { a: 1 }
          })
        )
      )
      const [first, second, third] = server.requests.map(({ body }) => {
        const { messages: _messages, tools: _tools, ...rest } = body
        return rest
      })
      const base = {
        model: "test-model",
        tool_choice: "auto",
        parallel_tool_calls: false,
        temperature: 0.5,
        top_p: 0.9,
        max_tokens: 100,
        stop: ["x"],
        reasoning_effort: "low",
        a: 1
      }
      assert.deepStrictEqual(first, base)
      assert.deepStrictEqual(second, { ...base, model: "other", temperature: 1, seed: 2, b: 2, c: 3 })
      assert.deepStrictEqual(third, base)
      const bodies = [[undefined, undefined], [{ a: 1 }, undefined], [undefined, { a: 2 }]] as const
      for (const [body, over] of bodies) {
        const sent = yield* bodyOf(
          generate().pipe(OpenAiCompatible.withConfigOverride({ body: over })),
          { body }
        )
        assert.strictEqual(sent.a, over?.a ?? body?.a)
      }
    }))

  it.effect("for a stream takes the override from the stream's context", () =>
    Effect.gen(function*() {
      const body = yield* bodyOf(
        stream().pipe(
          Stream.provideService(OpenAiCompatible.ConfigOverride, { temperature: 0 }),
          Stream.runDrain
        ),
        {},
        { chunks: [Server.chunk({ content: "Hi" }, "stop"), Server.done] }
      )
      assert.strictEqual(body.temperature, 0)
    }))
})

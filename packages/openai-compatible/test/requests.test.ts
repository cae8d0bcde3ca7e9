import { assert, describe, it } from "@effect/vitest"
import { OpenAiCompatible } from "@recourse/openai-compatible"
import { Effect, Schema, Stream } from "effect"
import { LanguageModel, Prompt, Tool, Toolkit } from "effect/ai"
import { generate, key, model, Parse, stream } from "./harness.ts"
import * as Server from "./server.ts"

const ok = Server.completion({ content: "ok" })

/** The body of the one request that the effect makes. */
const bodyOf = <A, E>(
  effect: Effect.Effect<A, E, LanguageModel.LanguageModel>,
  options: Partial<OpenAiCompatible.Options> = {},
  reply = ok
) =>
  Effect.gen(function*() {
    const server = yield* Server.make(reply)
    yield* effect.pipe(Effect.provide(model(server.url, options)))
    assert.strictEqual(server.requests.length, 1)
    return server.requests[0]!.body
  })

const history = Prompt.make([
  { role: "system", content: "Be brief." },
  { role: "user", content: "Count" },
  {
    role: "assistant",
    content: [
      { type: "reasoning", text: "Let me see." },
      { type: "text", text: "I count." },
      { type: "tool-call", id: "call_1", name: "parse", params: { json: "{}" } },
      { type: "tool-call", id: "call_2", name: "parse", params: "{json: 1" }
    ]
  },
  {
    role: "tool",
    content: [
      { type: "tool-result", id: "call_1", name: "parse", isFailure: false, result: 0 },
      { type: "tool-result", id: "call_2", name: "parse", isFailure: true, result: { code: "invalid_arguments" } }
    ]
  },
  { role: "assistant", content: [{ type: "reasoning", text: "So." }, { type: "text", text: "Zero." }] },
  { role: "user", content: "Again" }
])

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

  it.effect("has calls, results and failures by id, arguments as valid JSON", () =>
    Effect.gen(function*() {
      const body = yield* bodyOf(generate(history))
      assert.deepStrictEqual(body.messages, [
        { role: "system", content: "Be brief." },
        { role: "user", content: "Count" },
        {
          role: "assistant",
          content: "I count.",
          tool_calls: [
            { id: "call_1", type: "function", function: { name: "parse", arguments: "{\"json\":\"{}\"}" } },
            {
              id: "call_2",
              type: "function",
              function: { name: "parse", arguments: "{\"invalid_json\":\"{json: 1\"}" }
            }
          ]
        },
        { role: "tool", tool_call_id: "call_1", content: "0" },
        { role: "tool", tool_call_id: "call_2", content: "{\"code\":\"invalid_arguments\"}" },
        { role: "assistant", content: "Zero." },
        { role: "user", content: "Again" }
      ])
    }))

  it.effect("has past answers' texts and calls, and no empty parts", () =>
    Effect.gen(function*() {
      const called = (id: string) => ({ type: "tool-call" as const, id, name: "now", params: {} })
      const result = (id: string, more: object) => ({
        type: "tool-result" as const,
        id,
        name: "now",
        isFailure: false,
        result: null,
        ...more
      })
      const { messages } = yield* bodyOf(
        generate(Prompt.make([
          { role: "user", content: [] },
          { role: "assistant", content: [{ type: "reasoning", text: "Hm." }] },
          { role: "assistant", content: [called("abc123XYZ"), called("abc123XYZ9"), called("-abc123XYZ")] },
          {
            role: "tool",
            content: [
              result("abc123XYZ", {}),
              result("abc123XYZ9", { modelOutput: [{ type: "text", text: "shown" }] }),
              { type: "tool-approval-response", approvalId: "1", approved: true }
            ]
          },
          { role: "tool", content: [{ type: "tool-approval-response", approvalId: "2", approved: true }] },
          {
            role: "assistant",
            content: [{ ...called("theirs"), providerExecuted: true }, { type: "text", text: "It is " }, {
              type: "text",
              text: "noon."
            }]
          }
        ] as never)),
        { quirks: { reasoningHistory: "reasoning", toolCallId: "nine-alphanumerics" } }
      )
      const ids = messages[1].tool_calls.map(({ id }: { id: string }) => id)
      assert.deepStrictEqual(messages.map(({ tool_calls: _, ...rest }: Record<string, unknown>) => rest), [
        { role: "user", content: [] },
        { role: "assistant", content: null },
        { role: "tool", tool_call_id: ids[0], content: "null" },
        { role: "tool", tool_call_id: ids[1], content: "shown" },
        { role: "assistant", content: "It is noon." }
      ])
      assert.strictEqual(ids[0], "abc123XYZ")
      for (const id of ids) assert.match(id, /^[A-Za-z0-9]{9}$/)
      assert.strictEqual(new Set(ids).size, 3)
      assert.deepStrictEqual(messages.map((message: object) => "tool_calls" in message), [
        false,
        true,
        false,
        false,
        false
      ])
    }))

  it.effect("has no instructions without messages", () =>
    Effect.gen(function*() {
      const { messages } = yield* bodyOf(generate([]), { quirks: { tools: "inline" } })
      assert.deepStrictEqual(messages.map(({ role }: { role: string }) => role), ["system"])
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

  it.effect("carries images, sound and files", () =>
    Effect.gen(function*() {
      const bytes = new Uint8Array([1, 2, 3])
      const body = yield* bodyOf(generate([{
        role: "user",
        content: [
          { type: "text", text: "What is this?" },
          { type: "file", mediaType: "image/png", data: bytes },
          { type: "file", mediaType: "image/*", data: new URL("https://example.com/a.jpg") },
          { type: "file", mediaType: "image/png", data: "https://example.com/b.png" },
          { type: "file", mediaType: "image/png", data: "AQID" },
          { type: "file", mediaType: "image/*", data: bytes },
          { type: "file", mediaType: "image/png", data: "data:image/png;base64,AQID" },
          { type: "file", mediaType: "audio/mpeg", data: bytes },
          { type: "file", mediaType: "audio/mp3", data: bytes },
          { type: "file", mediaType: "audio/wav", data: bytes },
          { type: "file", mediaType: "audio/x-wav", data: "data:audio/x-wav;rate=8000;base64,AQID" },
          { type: "file", mediaType: "application/pdf", fileName: "a.pdf", data: bytes },
          { type: "file", mediaType: "text/plain", data: bytes }
        ]
      }]))
      assert.deepStrictEqual(body.messages, [{
        role: "user",
        content: [
          { type: "text", text: "What is this?" },
          { type: "image_url", image_url: { url: "data:image/png;base64,AQID" } },
          { type: "image_url", image_url: { url: "https://example.com/a.jpg" } },
          { type: "image_url", image_url: { url: "https://example.com/b.png" } },
          { type: "image_url", image_url: { url: "data:image/png;base64,AQID" } },
          { type: "image_url", image_url: { url: "data:image/jpeg;base64,AQID" } },
          { type: "image_url", image_url: { url: "data:image/png;base64,AQID" } },
          { type: "input_audio", input_audio: { data: "AQID", format: "mp3" } },
          { type: "input_audio", input_audio: { data: "AQID", format: "mp3" } },
          { type: "input_audio", input_audio: { data: "AQID", format: "wav" } },
          { type: "input_audio", input_audio: { data: "AQID", format: "wav" } },
          { type: "file", file: { filename: "a.pdf", file_data: "data:application/pdf;base64,AQID" } },
          { type: "file", file: { filename: "file", file_data: "data:text/plain;base64,AQID" } }
        ]
      }])
    }))

  it.effect("omits pictures and approval answers, which the protocol lacks", () =>
    Effect.gen(function*() {
      const drawn = Prompt.make([
        { role: "user", content: "Draw" },
        {
          role: "assistant",
          content: [{ type: "text", text: "Drawn." }, {
            type: "file",
            mediaType: "image/png",
            data: new Uint8Array([1])
          }]
        },
        { role: "tool", content: [{ type: "tool-approval-response", approvalId: "approval_1", approved: true }] }
      ])
      for (const tools of ["native", "inline"] as const) {
        const { messages } = yield* bodyOf(LanguageModel.generateText({ prompt: drawn }), { quirks: { tools } })
        assert.deepStrictEqual(messages, [{ role: "user", content: "Draw" }, { role: "assistant", content: "Drawn." }])
      }
    }))

  it.effect("is not sent with a file that the protocol cannot carry", () =>
    Effect.gen(function*() {
      const server = yield* Server.make(ok)
      const addresses = [
        new URL("https://example.com/a.pdf"),
        "https://example.com/a.pdf",
        "https://example.com/data:x;base64,AQID",
        "data:text/plain,;base64,AQID"
      ]
      for (const data of addresses) {
        const error = yield* generate([{
          role: "user",
          content: [{ type: "file", mediaType: "application/pdf", data }]
        }]).pipe(Effect.flip, Effect.provide(model(server.url)))
        assert.strictEqual(error.reason._tag, "InvalidUserInputError")
      }
      assert.strictEqual(server.requests.length, 0)
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

describe("structured output", () => {
  const Answer = Schema.Struct({ keys: Schema.Int, note: Schema.optional(Schema.String) })
  const ask = LanguageModel.generateObject({ prompt: "Count", schema: Answer, objectName: "answer" })
  const reply = Server.completion({ content: "{\"keys\":2,\"note\":null}" })
  const schema = {
    type: "object",
    properties: {
      keys: { type: "integer", minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER },
      note: { anyOf: [{ type: "string" }, { type: "null" }] }
    },
    required: ["keys", "note"],
    additionalProperties: false
  }

  it.effect("is asked for by schema, and decoded by it", () =>
    Effect.gen(function*() {
      const server = yield* Server.make(reply)
      const { value } = yield* ask.pipe(Effect.provide(model(server.url)))
      assert.deepStrictEqual(value, { keys: 2 })
      const { body } = server.requests[0]!
      assert.strictEqual(body.response_format.type, "json_schema")
      assert.strictEqual(body.response_format.json_schema.name, "answer")
      assert.notProperty(body.response_format.json_schema, "description")
      assert.strictEqual(body.response_format.json_schema.strict, true)
      assert.deepStrictEqual(body.response_format.json_schema.schema.required, schema.required)
      assert.strictEqual(body.response_format.json_schema.schema.additionalProperties, false)
      assert.deepStrictEqual(body.messages, [{ role: "user", content: "Count" }])
    }))

  it.effect("has the description of its schema", () =>
    Effect.gen(function*() {
      const body = yield* bodyOf(
        LanguageModel.generateObject({
          prompt: "Count",
          schema: Schema.Struct({ keys: Schema.Int }).annotate({ description: "How many keys" })
        }),
        {},
        Server.completion({ content: "{\"keys\":2}" })
      )
      assert.strictEqual(body.response_format.json_schema.description, "How many keys")
    }))

  for (const structuredOutput of ["json_object", "prompt"] as const) {
    it.effect(`falls back to ${structuredOutput} with the schema in the prompt`, () =>
      Effect.gen(function*() {
        const server = yield* Server.make(reply)
        const { value } = yield* ask.pipe(Effect.provide(model(server.url, { quirks: { structuredOutput } })))
        assert.deepStrictEqual(value, { keys: 2 })
        const { body } = server.requests[0]!
        assert.deepStrictEqual(
          body.response_format,
          structuredOutput === "json_object" ? { type: "json_object" } : undefined
        )
        assert.strictEqual(body.messages[0].role, "system")
        assert.include(body.messages[0].content, "\"required\":[\"keys\",\"note\"]")
        assert.deepStrictEqual(body.messages[1], { role: "user", content: "Count" })
      }))
  }

  it.effect("of a non-object schema fails before sending", () =>
    Effect.gen(function*() {
      const server = yield* Server.make(reply)
      const error = yield* LanguageModel.generateObject({
        prompt: "Count",
        schema: Schema.Union([Schema.Struct({ a: Schema.Int }), Schema.Struct({ b: Schema.Int })])
      }).pipe(Effect.flip, Effect.provide(model(server.url)))
      assert.strictEqual(error.reason._tag, "UnsupportedSchemaError")
      assert.strictEqual(server.requests.length, 0)
    }))
})

/** One request to a model, in tables: ways to request an answer of a form, and the decoding of its parts. */
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Exit, Layer, Schedule, Schema, Stream, type Tracer } from "effect"
import {
  AiError,
  IdGenerator,
  LanguageModel,
  Prompt,
  type Response,
  ResponseIdTracker,
  Telemetry,
  Tool,
  Toolkit
} from "effect/ai"
import { Agent, ModelError, ModelProvider } from "@recourse/core"
import { finish } from "../support/parts.ts"

const room = new URL("../../src/internal/model/", import.meta.url)
const { isContextLength } = await import(new URL("contextLength.ts", room).href) as {
  readonly isContextLength: (error: AiError.AiError) => boolean
}

interface Request {
  readonly prompt: Prompt.Prompt
  readonly toolkit: Toolkit.Any
  readonly toolChoice?: LanguageModel.ToolChoice<string>
  readonly format?: { readonly objectName: string; readonly schema: Schema.Top; readonly prefer: "tools" | "format" }
}
type Answered = ReadonlyArray<Response.AnyPart>
const ModelRequest = await import(new URL("sendRequest.ts", room).href) as {
  readonly generate: (
    model: LanguageModel.LanguageModel,
    request: Request,
    context: Context.Context<never>
  ) => Effect.Effect<Answered, AiError.AiError, IdGenerator.IdGenerator>
  readonly listen: (
    model: LanguageModel.LanguageModel,
    request: Request,
    context: Context.Context<never>,
    onParts: (parts: Answered) => Effect.Effect<void>
  ) => Effect.Effect<void, AiError.AiError, IdGenerator.IdGenerator>
}

const Title = Schema.Struct({ title: Schema.String })
const Echo = Tool.make("echo", { parameters: Schema.Struct({ text: Schema.String }), success: Schema.String })
const Ping = Tool.make("ping", { success: Schema.String })
const prompt = Prompt.make("Hi")
const form = (prefer: "tools" | "format", objectName = "answer") => ({ objectName, schema: Title, prefer })

type Sent = LanguageModel.ProviderOptions
type Parts = ReadonlyArray<Response.PartEncoded>

/** A model that answers with a function's values, and its requests. `direct`: true if its hooks are called. */
const asked = Effect.fnUntraced(function*(
  answer: (sent: Sent, index: number) => Effect.Effect<Parts, AiError.AiError>,
  more: Partial<ModelProvider.Hooks> = {}
) {
  const sent: Array<Sent> = []
  const reply = (options: Sent) =>
    Effect.suspend(() => {
      sent.push(options)
      return answer(options, sent.length - 1)
    })
  const model = yield* ModelProvider.make({
    generateText: (options) => Effect.map(reply(options), (parts) => [...parts]),
    streamText: (options) =>
      Stream.unwrap(Effect.map(reply(options), (parts) => Stream.fromIterable(parts as ReadonlyArray<never>))),
    ...more
  })
  return { model, sent }
})

/** The answer of a model to a request, whole or streamed, past `LanguageModel` or through it. */
const answerOf = (
  model: LanguageModel.LanguageModel,
  request: Request,
  { direct = true, streamed = false }: { readonly direct?: boolean; readonly streamed?: boolean } = {}
): Effect.Effect<ReadonlyArray<Response.AnyPart>, AiError.AiError> => {
  const run = Effect.contextWith((context: Context.Context<never>) =>
    streamed
      ? Effect.suspend(() => {
        const heard: Array<Response.AnyPart> = []
        return Effect.as(
          ModelRequest.listen(model, request, context, (parts) => Effect.sync(() => heard.push(...parts))),
          heard as ReadonlyArray<Response.AnyPart>
        )
      })
      : ModelRequest.generate(model, request, context)
  )
  return (direct ? Effect.withSpan(run, "turn") : run).pipe(
    Effect.provideService(IdGenerator.IdGenerator, IdGenerator.defaultIdGenerator)
  )
}

const said = (text: string): Parts => [{ type: "text", text }, finish("stop")]
const shown = ({ responseFormat, toolChoice, tools }: Sent) => [
  responseFormat.type,
  tools.map(({ name }) => name),
  toolChoice
]

describe("the request of a form to a provider", () => {
  const kit = Toolkit.make(Echo, Ping)
  const tools = ["echo", "ping"]
  const cases: ReadonlyArray<
    readonly [
      name: string,
      request: Partial<Request>,
      whole: ReadonlyArray<unknown>,
      options?: { readonly direct?: boolean; readonly hooks?: Partial<ModelProvider.Hooks> }
    ]
  > = [
    ["no form", { toolkit: kit }, ["text", tools, "auto"]],
    ["no form and no tools", {}, ["text", [], "none"]],
    ["no form, some tools", { toolkit: kit, toolChoice: { oneOf: ["ping"] } }, ["text", ["ping"], { oneOf: ["ping"] }]],
    ["no form, one tool", { toolkit: kit, toolChoice: { tool: "ping" } }, ["text", tools, { tool: "ping" }]],
    ["a form without tools", { format: form("tools") }, ["json", [], "none"]],
    ["a form beside tools is a tool", { toolkit: kit, format: form("tools") }, ["text", [...tools, "answer"], "auto"]],
    [
      "the tool of a form can be chosen among some",
      { toolkit: kit, format: form("tools"), toolChoice: { mode: "required", oneOf: ["ping"] } },
      ["text", ["ping", "answer"], { mode: "required", oneOf: ["ping", "answer"] }]
    ],
    [
      "one tool that must be called stays so",
      { toolkit: kit, format: form("tools"), toolChoice: { tool: "ping" } },
      ["text", [...tools, "answer"], { tool: "ping" }]
    ],
    [
      "no tool may be called: instructions alone",
      { toolkit: kit, format: form("tools"), toolChoice: "none" },
      ["text", tools, "none"]
    ],
    [
      "a tool of the program's has the name: instructions alone",
      { toolkit: kit, format: form("tools", "ping") },
      ["text", tools, "auto"]
    ],
    ["a form before tools", { toolkit: kit, format: form("format") }, ["json", [], "none"]],
    [
      "a form with tools, where a provider takes both",
      { toolkit: kit, format: form("tools"), toolChoice: "required" },
      ["json", tools, "required"],
      { hooks: { structuredOutput: "with-tools" } }
    ],
    ["through LanguageModel: a form", { format: form("tools") }, ["json", [], "none"], { direct: false }],
    [
      "through LanguageModel: a form beside tools",
      { toolkit: kit, format: form("format") },
      ["text", [...tools, "answer"], "auto"],
      { direct: false }
    ]
  ]
  for (const [name, request, expected, { direct = true, hooks = {} } = {}] of cases) {
    it.effect(name, () =>
      Effect.gen(function*() {
        const { model, sent } = yield* asked(() => Effect.succeed(said(`{"title":"t"}`)), hooks)
        const full = { prompt, toolkit: Toolkit.empty, ...request }
        yield* answerOf(model, full, { direct })
        assert.deepStrictEqual(shown(sent[0]!), expected)
        const format = sent[0]!.responseFormat
        if (format.type === "json") assert.deepInclude(format, { objectName: "answer", schema: Title })
        if (direct) {
          yield* answerOf(model, full, { streamed: true })
          assert.deepStrictEqual(shown(sent[1]!), expected)
          assert.strictEqual(sent[1]!.prompt, prompt)
        }
        const offered = sent[0]!.tools.find((tool) => tool.name === "answer")
        if (offered !== undefined) {
          assert.deepStrictEqual(Tool.getJsonSchema(offered)["required"], ["title"])
          assert.include(Tool.getDescription(offered), "final answer")
        }
      }))
  }

  it.effect("through LanguageModel and streamed there is no format: a tool, then instructions", () =>
    Effect.gen(function*() {
      const { model, sent } = yield* asked(() => Effect.succeed([finish("stop")]))
      const request = { prompt, toolkit: Toolkit.empty, format: form("format") }
      yield* answerOf(model, request, { direct: false, streamed: true })
      assert.deepStrictEqual(shown(sent[0]!), ["text", ["answer"], "auto"])
    }))

  it.effect("calls the hooks directly only without other needs of LanguageModel", () =>
    Effect.gen(function*() {
      const { model, sent } = yield* asked(() => Effect.succeed(said("x")))
      const run = answerOf(model, { prompt, toolkit: Toolkit.empty })
      yield* run
      yield* answerOf(model, { prompt, toolkit: Toolkit.empty }, { direct: false })
      yield* Effect.provideServiceEffect(run, ResponseIdTracker.ResponseIdTracker, ResponseIdTracker.make)
      let transformed = 0
      yield* Effect.provideService(run, Telemetry.CurrentSpanTransformer, () => {
        transformed++
      })
      assert.strictEqual(transformed, 1)
      yield* answerOf({ ...model }, { prompt, toolkit: Toolkit.empty })
      // The span of the turn itself, or one that LanguageModel has opened for its request.
      const names = sent.map(({ span }) => (span as Tracer.Span).name)
      assert.deepStrictEqual(names.map((name) => name === "turn"), [true, false, false, false, false])
    }))
})

const refusal = (reason: AiError.AiErrorReason) => AiError.make({ module: "Test", method: "call", reason })
const invalid = refusal(new AiError.InvalidRequestError({}))
const tooLong = refusal(new AiError.InvalidRequestError({ metadata: { p: { kind: "context-length" } } }))
const unsupported = refusal(new AiError.UnsupportedSchemaError({ description: "no such schema" }))
const busy = refusal(new AiError.InternalProviderError({ description: "busy" }))

describe("a form that a provider refuses", () => {
  const request: Request = { prompt, toolkit: Toolkit.empty, format: form("format") }
  const ways = (sent: ReadonlyArray<Sent>) =>
    sent.map(({ responseFormat, tools }) => responseFormat.type === "json" ? "format" : tools[0]?.name ?? "plain")
  const refusing = (error: AiError.AiError, ...refused: ReadonlyArray<string>) =>
    asked((sent) => refused.includes(ways([sent])[0]!) ? Effect.fail(error) : Effect.succeed(said("x")))

  for (const streamed of [false, true]) {
    it.effect(`is requested by the next way only${streamed ? ": streamed" : ""}`, () =>
      Effect.gen(function*() {
        for (
          const [error, refused, first, second] of [
            [invalid, ["format"], ["format", "answer"], ["answer"]],
            [invalid, ["format", "answer"], ["format", "answer", "plain"], ["plain"]],
            // A schema is one of many: the next may be taken.
            [unsupported, ["format"], ["format", "answer"], ["format", "answer"]],
            [unsupported, ["format", "answer"], ["format", "answer", "plain"], ["format", "answer", "plain"]]
          ] as const
        ) {
          const { model, sent } = yield* refusing(error, ...refused)
          yield* answerOf(model, request, { streamed })
          assert.deepStrictEqual(ways(sent), [...first])
          yield* answerOf(model, request, { streamed })
          assert.deepStrictEqual(ways(sent), [...first, ...second])
        }
      }))

    it.effect(`a request refused in every way fails and stores nothing${streamed ? ": streamed" : ""}`, () =>
      Effect.gen(function*() {
        for (
          const [error, times] of [[invalid, 3], [unsupported, 3], [tooLong, 1], [busy, 1]] as const
        ) {
          const { model, sent } = yield* refusing(error, "format", "answer", "plain")
          for (const round of [1, 2]) {
            assert.strictEqual(yield* Effect.flip(answerOf(model, request, { streamed })), error)
            assert.lengthOf(sent, round * times)
          }
        }
      }))
  }

  it.effect("an answer that was heard is not asked for again", () =>
    Effect.gen(function*() {
      const sent: Array<Sent> = []
      const model = yield* ModelProvider.make({
        generateText: () => Effect.die("not here"),
        streamText: (options) => {
          sent.push(options)
          return Stream.concat(
            Stream.succeed<Response.StreamPartEncoded>({ type: "text-start", id: "t" }),
            Stream.fail(invalid)
          )
        }
      })
      assert.strictEqual(yield* Effect.flip(answerOf(model, request, { streamed: true })), invalid)
      assert.lengthOf(sent, 1)
    }))
})

describe("a request that is too long", () => {
  it("detects a long request only by the provider's mark", () => {
    const mark = { kind: "context-length" }
    const cases: ReadonlyArray<readonly [reason: object, boolean]> = [
      [{ metadata: { p: mark } }, true],
      [{ metadata: { a: { kind: "x" }, b: mark } }, true],
      [{ metadata: { p: { kind: "x" } } }, false],
      [{ metadata: { p: {} } }, false],
      [{ metadata: { p: null } }, false],
      [{ metadata: { p: "context-length" } }, false],
      [{ metadata: { p: Object.create(mark) } }, false],
      [{ metadata: {}, description: "context-length" }, false],
      [{ _tag: "InternalProviderError", metadata: { p: mark } }, false]
    ]
    for (const [reason, expected] of cases) {
      const error = { reason: { _tag: "InvalidRequestError", ...reason } } as unknown as AiError.AiError
      assert.strictEqual(isContextLength(error), expected, JSON.stringify(reason))
    }
  })
})

describe("a call of the answer tool", () => {
  const toolkit = Toolkit.make(Echo)
  const request: Request = { prompt, toolkit, format: form("tools") }
  const call = (id: string, name: string, params: unknown, providerExecuted?: boolean): Response.PartEncoded => ({
    type: "tool-call",
    id,
    name,
    params,
    ...(providerExecuted === undefined ? undefined : { providerExecuted })
  })
  const grows = (
    id: string,
    name: string,
    ...deltas: ReadonlyArray<string>
  ): ReadonlyArray<Response.StreamPartEncoded> => [
    { type: "tool-params-start", id, name },
    ...deltas.map((delta) => ({ type: "tool-params-delta" as const, id, delta })),
    { type: "tool-params-end", id }
  ]
  const brief = (parts: ReadonlyArray<Response.AnyPart>): ReadonlyArray<unknown> =>
    parts.map((part) => {
      switch (part.type) {
        case "text":
          return `text ${part.text}`
        case "text-delta":
        case "tool-params-delta":
          return `${part.type} ${part.id} ${part.delta}`
        case "tool-call":
          return `${part.name} ${part.id}`
        case "finish":
          return part.reason
        default:
          return `${part.type} ${"id" in part ? part.id : ""}`
      }
    })
  const answer = call("a", "answer", { title: "t" })
  const json = `{"title":"t"}`
  const cases: ReadonlyArray<
    readonly [name: string, streamed: boolean, parts: ReadonlyArray<unknown>, read: ReadonlyArray<string>]
  > = [
    ["alone", false, [answer, finish("tool-calls")], [`text ${json}`, "stop"]],
    ["as text", false, [call("a", "answer", json), finish("tool-calls")], [`text ${json}`, "stop"]],
    ["that ended for another reason", false, [answer, finish("length")], [`text ${json}`, "length"]],
    [
      "beside another call",
      false,
      [call("e", "echo", { text: "x" }), answer, finish("tool-calls")],
      ["echo e", `text ${json}`, "tool-calls"]
    ],
    ["of a provider", false, [call("a", "answer", {}, true), finish("tool-calls")], ["answer a", "tool-calls"]],
    ["that is none", false, [call("e", "echo", { text: "x" }), finish("tool-calls")], ["echo e", "tool-calls"]],
    ["that did not come", false, [{ type: "text", text: "no" }, finish("tool-calls")], ["text no", "tool-calls"]],
    [
      "in one piece of a stream",
      true,
      [answer, finish("tool-calls")],
      ["text-start a", `text-delta a ${json}`, "text-end a", "stop"]
    ],
    [
      "that grows",
      true,
      [...grows("a", "answer", `{"title"`, `:"t"}`), answer, finish("tool-calls")],
      ["text-start a", `text-delta a {"title"`, `text-delta a :"t"}`, "text-end a", "stop"]
    ],
    [
      "that grows beside another",
      true,
      [...grows("e", "echo", "{}"), ...grows("a", "answer", "{}"), call("e", "echo", {}), answer, finish("tool-calls")],
      [
        "tool-params-start e",
        "tool-params-delta e {}",
        "tool-params-end e",
        "text-start a",
        "text-delta a {}",
        "text-end a",
        "echo e",
        "tool-calls"
      ]
    ]
  ]
  for (const [name, streamed, parts, read] of cases) {
    it.effect(`${name} is read as the text of the answer`, () =>
      Effect.gen(function*() {
        const { model } = yield* asked(() => Effect.succeed(parts as Parts))
        assert.deepStrictEqual(brief(yield* answerOf(model, request, { streamed })), read)
        // Without a form a tool of that name is any tool.
        const { format: _, ...plain } = request
        const unread = brief(yield* answerOf(model, plain, { streamed }))
        assert.lengthOf(unread, parts.length)
      }))
  }
})

describe("parts", () => {
  it.effect("are equal through and past LanguageModel, as far as agents read", () =>
    Effect.gen(function*() {
      const metadata = { p: { k: 1 } }
      const shared: ReadonlyArray<Response.PartEncoded> = [
        { type: "response-metadata", id: "r", modelId: "m", timestamp: undefined },
        { type: "tool-call", id: "c1", name: "echo", params: { text: "x" } },
        { type: "tool-call", id: "c2", name: "echo", params: { text: "x" }, providerExecuted: true, metadata },
        { type: "tool-result", id: "c2", name: "echo", result: "x", isFailure: false, providerExecuted: true },
        { type: "tool-result", id: "c2", name: "echo", result: "x", isFailure: false, preliminary: true, metadata },
        { type: "file", mediaType: "image/png", data: "AQID" },
        { type: "file", mediaType: "image/png", data: "", metadata },
        { type: "source", sourceType: "document", id: "s", mediaType: "text/plain", title: "T" },
        finish("stop")
      ]
      const keys = [
        "type",
        "id",
        "name",
        "params",
        "providerExecuted",
        "preliminary",
        "isFailure",
        "result",
        "encodedResult",
        "data",
        "mediaType",
        "metadata",
        "reason",
        "text",
        "delta"
      ]
      const looked = (parts: ReadonlyArray<Response.AnyPart>) =>
        parts.map((part) =>
          Object.fromEntries(
            keys.flatMap((key) => {
              const value = (part as unknown as Readonly<Record<string, unknown>>)[key]
              return value === undefined ? [] : [[key, value]]
            })
          )
        )
      const own: Readonly<Record<string, ReadonlyArray<unknown>>> = {
        whole: [{ type: "text", text: "t", metadata }, { type: "reasoning", text: "r" }],
        streamed: [
          { type: "text-start", id: "t" },
          { type: "text-delta", id: "t", delta: "x" },
          { type: "text-end", id: "t", metadata }
        ]
      }
      const Searched = Tool.make("echo", {
        parameters: Schema.Struct({ text: Schema.String }),
        success: Schema.String,
        failure: Schema.String
      })
      for (const streamed of [false, true]) {
        const parts = [...own[streamed ? "streamed" : "whole"]!, ...shared] as Parts
        const { model } = yield* asked(() => Effect.succeed(parts))
        const request = { prompt, toolkit: Toolkit.make(Searched) }
        const [past, through] = [
          yield* answerOf(model, request, { streamed }),
          yield* answerOf(model, request, { streamed, direct: false })
        ]
        assert.deepStrictEqual(looked(past), looked(through))
      }
      const { model } = yield* asked(() =>
        Effect.succeed([{ type: "file", mediaType: "image/png", data: "no base64!" }, finish("stop")])
      )
      const [file] = yield* answerOf(model, { prompt, toolkit: Toolkit.empty })
      assert.deepStrictEqual(file?.type === "file" && file.data, new Uint8Array())
    }))

  it.effect("an unfit object through LanguageModel is the original text, ended", () =>
    Effect.gen(function*() {
      for (const text of [`{"title":"t"}`, "no object"]) {
        const { model } = yield* asked(() => Effect.succeed(said(text)))
        const parts = yield* answerOf(
          model,
          { prompt, toolkit: Toolkit.empty, format: form("format") },
          { direct: false }
        )
        assert.deepStrictEqual(
          parts.map((part) => part.type === "text" ? part.text : part.type === "finish" ? part.reason : part.type),
          [text, "stop"]
        )
      }
    }))
})

describe("a model with something around its requests", () => {
  const around = (model: LanguageModel.LanguageModel, decision: ModelError.Decision<string> = ModelError.rethrow) =>
    Layer.build(ModelError.layer(() => decision).pipe(Layer.provide(Layer.succeed(LanguageModel.LanguageModel, model))))
      .pipe(
        Effect.map(Context.get(LanguageModel.LanguageModel))
      )
  const metadata = { p: { k: 1 } }
  const calls = [
    { type: "tool-call", id: "c", name: "echo", params: { text: "x" }, metadata },
    { type: "tool-call", id: "p", name: "echo", params: { text: "y" }, providerExecuted: true },
    { type: "tool-result", id: "p", name: "echo", result: "y", isFailure: false, providerExecuted: true, metadata },
    { type: "file", mediaType: "image/png", data: "AQID" },
    { type: "source", sourceType: "document", id: "s", mediaType: "text/plain", title: "T" },
    finish("tool-calls")
  ]
  const answers: Readonly<Record<"whole" | "streamed", ReadonlyArray<unknown>>> = {
    whole: [{ type: "text", text: "t", metadata }, { type: "reasoning", text: "r" }, ...calls],
    streamed: [
      { type: "text-start", id: "t" },
      { type: "text-delta", id: "t", delta: "x" },
      { type: "text-end", id: "t", metadata },
      { type: "tool-params-start", id: "c", name: "echo" },
      { type: "tool-params-delta", id: "c", delta: "{}" },
      { type: "tool-params-end", id: "c" },
      ...calls
    ]
  }
  const options = { prompt, toolkit: Toolkit.make(Echo), disableToolCallResolution: true } as const
  const contentOf = Effect.fnUntraced(function*(model: LanguageModel.LanguageModel, streamed: boolean) {
    const content = streamed
      ? yield* Stream.runCollect(model.streamText(options))
      : (yield* model.generateText(options)).content
    return [...content] as ReadonlyArray<unknown>
  })

  for (const hooked of [true, false]) {
    const kind = hooked ? "of its provider's hooks" : "of others"
    it.effect(`${kind}: parts are as they were, whole and streamed`, () =>
      Effect.gen(function*() {
        for (const streamed of [false, true]) {
          const { model: made } = yield* asked(() => Effect.succeed(answers[streamed ? "streamed" : "whole"] as Parts))
          const model = hooked ? made : { ...made }
          const wrapped = yield* around(model)
          assert.deepStrictEqual(yield* contentOf(wrapped, streamed), yield* contentOf(model, streamed))
        }
      }).pipe(Effect.scoped))

    it.effect(`${kind}: the form of an answer goes through`, () =>
      Effect.gen(function*() {
        const { model: made, sent } = yield* asked(() => Effect.succeed(said(`{"title":"t"}`)))
        const wrapped = yield* around(hooked ? made : { ...made })
        const { value } = yield* wrapped.generateObject({ prompt, schema: Title, objectName: "named" })
        assert.deepStrictEqual(value, { title: "t" })
        const answer = yield* Agent.make("a", { output: Title }).run("x").pipe(
          Effect.provideService(LanguageModel.LanguageModel, wrapped)
        )
        assert.deepStrictEqual(answer, { title: "t" })
        const formats = sent.map(({ responseFormat }) => responseFormat)
        assert.deepStrictEqual(formats.map(({ type }) => type), ["json", "json"])
        assert.deepInclude(formats[0], { objectName: "named", schema: Title })
        assert.deepInclude(formats[1], { schema: Title })
      }).pipe(Effect.scoped))
  }

  it.effect("an object is requested again as a whole, unless it runs tools", () =>
    Effect.gen(function*() {
      const again = ModelError.retry({ times: 1, schedule: Schedule.forever })
      const toolkit = Toolkit.make(Ping)
      const asks = (wrapped: LanguageModel.LanguageModel, more: object) =>
        wrapped.generateObject({ prompt, schema: Title, ...more } as never).pipe(
          Effect.provide(toolkit.toLayer({ ping: () => Effect.succeed("pong") })),
          Effect.exit
        ) as unknown as Effect.Effect<Exit.Exit<unknown, unknown>>
      for (
        const [more, isRepeated] of [
          [{}, true],
          [{ toolkit, disableToolCallResolution: true }, true],
          [{ toolkit }, false],
          [{ toolkit, disableToolCallResolution: false }, false]
        ] as const
      ) {
        const { model, sent } = yield* asked((_, index) =>
          index === 0 ? Effect.fail(busy) : Effect.succeed(said(`{"title":"t"}`))
        )
        const exit = yield* asks(yield* around(model, again), more)
        assert.strictEqual(Exit.isSuccess(exit), isRepeated)
        assert.lengthOf(sent, isRepeated ? 2 : 1)
      }
    }).pipe(Effect.scoped))
})

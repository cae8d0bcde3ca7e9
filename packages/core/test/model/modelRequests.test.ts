/** One request to a model, in tables: ways to request an answer of a form, and the decoding of its parts. */

import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Exit, Layer, Schedule, Schema, Stream, type Tracer } from "effect"
import { AiError, LanguageModel, type Response, ResponseIdTracker, Telemetry, Tool, Toolkit } from "effect/ai"
import { Agent, ModelError, ModelProvider } from "@recourse/core"
import { finish } from "../support/parts.ts"
import {
  answerOf,
  asked,
  Echo,
  form,
  type Parts,
  prompt,
  type Request,
  room,
  said,
  type Sent,
  Title
} from "../support/requestForms.ts"

const { isContextLength } = await import(new URL("contextLength.ts", room).href) as {
  readonly isContextLength: (error: AiError.AiError) => boolean
}

const Ping = Tool.make("ping", { success: Schema.String })

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

/** Answers of models: complete ones, their events and stored form, their cost, and decisions about a failed call. */

import { assert, describe, it } from "@effect/vitest"
import { Cause, DateTime, Effect, Exit, Layer, Option, Result, Schema } from "effect"
import { AiError, Model, Response } from "effect/ai"
import { Agent, Budget, ConfigurationError, Skill, Tool } from "@recourse/core"
import { finish } from "../support/parts.ts"
import { answering, exitOf, room, streamedText, text } from "../support/answeringModels.ts"

interface Codec<A> {
  readonly write: (answer: A) => Effect.Effect<Schema.Json, unknown>
  readonly read: (json: Schema.Json) => Effect.Effect<A, unknown>
}

interface Reply {
  readonly content: ReadonlyArray<Response.AnyPart>
  readonly text: string
  readonly finishReason: Response.FinishReason
}

interface ObjectReply<A> {
  readonly content: ReadonlyArray<Response.AnyPart>
  readonly value: Result.Result<A, ReadonlyArray<object>>
}

const { objectCodec, replyCodec } = await import(new URL("answerRecord.ts", room).href) as {
  readonly objectCodec: <A>(schema: Schema.Codec<A, unknown>) => Codec<ObjectReply<A>>
  readonly replyCodec: Codec<Reply>
}

const { withShallowArguments } = await import(new URL("responseParts.ts", room).href) as {
  readonly withShallowArguments: (part: Response.AnyPart) => Response.AnyPart
}

describe("an answer", () => {
  const reasonOf = (exit: Exit.Exit<unknown, unknown>) => {
    const error = Exit.isFailure(exit) ? exit.cause.reasons.find(Cause.isFailReason)?.error : undefined
    return AiError.isAiError(error)
      ? [error.reason._tag, "description" in error.reason && error.reason.description]
      : undefined
  }
  const own = AiError.make({
    module: "T",
    method: "m",
    reason: new AiError.InternalProviderError({ description: "own" })
  })
  const incomplete = (reason: string) => ["InvalidOutputError", `The answer is not complete: finish reason "${reason}"`]
  const cases: ReadonlyArray<readonly [parts: ReadonlyArray<unknown>, reason: unknown]> = [
    [[finish("stop")], ["InvalidOutputError", "The answer is empty"]],
    [[finish("tool-calls")], ["InvalidOutputError", "The answer is empty"]],
    // An announcement of calls that are not there.
    [
      [text("I'll look."), finish("tool-calls")],
      ["InvalidOutputError", "The answer ends for tool calls and has none: it is not complete"]
    ],
    // The provider continues in the next turn.
    [[finish("pause")], undefined],
    [[{ type: "error", error: own }, finish("stop")], ["InternalProviderError", "own"]],
    [[{ type: "error", error: "overloaded" }, finish("stop")], [
      "UnknownError",
      "The provider reported an error in its stream"
    ]],
    ...(["length", "error", "other", "unknown"] as const).map((reason) =>
      [[finish(reason)], incomplete(reason)] as const
    ),
    [[], ["InvalidOutputError", "The answer ended without a finish reason: it is not complete"]],
    [[finish("content-filter")], ["ContentPolicyError", "The provider's content filter stopped the answer"]]
  ]
  for (const streamed of [false, true]) {
    for (const [parts, expected] of cases) {
      const last = parts.at(-1) as { readonly reason?: string } | undefined
      it.effect(`of ${parts.length} parts that ends with ${last?.reason ?? "nothing"}${streamed ? ", streamed" : ""}`, () =>
        Effect.gen(function*() {
          const exit = yield* Effect.provide(exitOf(Agent.make("a", {}), streamed), [
            expected === undefined
              ? answering(parts, [...(streamed ? streamedText("on") : [text("on")]), finish("stop")])
              : answering(parts)
          ])
          assert.deepStrictEqual(reasonOf(exit), expected)
          if (expected === undefined) assert.deepStrictEqual(exit, Exit.succeed("on"))
        }))
    }
  }

  it.effect("that broke off is none: its calls do not run", () =>
    Effect.gen(function*() {
      let runs = 0
      const Pay = Tool.make("pay", { effects: "write", execute: () => Effect.sync(() => void runs++) })
      const call = { type: "tool-call", id: "c", name: "pay", params: {} }
      for (const reason of ["length", "content-filter", "error", "other", "unknown"] as const) {
        const exit = yield* Effect.exit(
          Effect.provide(Agent.make("a", { tools: [Pay] }).run("x"), answering([text("Paying"), call, finish(reason)]))
        )
        assert.isTrue(Exit.isFailure(exit), reason)
      }
      assert.strictEqual(runs, 0)
    }))

  it.effect("that chooses no skill is corrected or a typed error, counted", () =>
    Effect.gen(function*() {
      const skills = ["read", "write"].map((name) => Skill.make(name, { description: name }))
      const agent = Agent.make("a", { skills })
      const usage = { inputTokens: { total: 3 }, outputTokens: { total: 2 } }
      for (const said of [[text("no object")], []]) {
        const report = yield* Effect.provide(
          agent.report("x"),
          answering([...said, { type: "finish", reason: "stop", usage }])
        )
        assert.isTrue(Exit.isFailure(report.exit))
        const error = yield* Effect.flip(report.exit)
        assert.notInstanceOf(error, AiError.AiError)
      }
    }))
})

describe("the stored form of an answer in a journal", () => {
  const usage = new Response.Usage({
    inputTokens: { uncached: undefined, total: 3, cacheRead: undefined, cacheWrite: undefined },
    outputTokens: { total: 2, text: undefined, reasoning: undefined }
  })
  const content: ReadonlyArray<Response.AnyPart> = [
    Response.makePart("response-metadata", {
      id: "r",
      modelId: "m",
      timestamp: DateTime.makeUnsafe("2026-01-02T03:04:05Z")
    }),
    Response.makePart("text", { text: "t" }),
    Response.makePart("file", { mediaType: "image/png", data: new Uint8Array([1, 2, 255]) }),
    Response.makePart("tool-call", { id: "c", name: "t", params: { a: [1] }, providerExecuted: false }),
    Response.makePart("tool-result", {
      id: "p",
      name: "t",
      result: { decoded: 1n },
      encodedResult: { n: "1" },
      isFailure: false,
      providerExecuted: true,
      preliminary: false
    }),
    Response.makePart("finish", { reason: "stop", usage, response: undefined })
  ]
  const again = (json: unknown) => JSON.parse(JSON.stringify(json))

  it.effect("round-trips calls, encoded results, bytes and usage", () =>
    Effect.gen(function*() {
      const reply = { content, text: "t", finishReason: "stop" as const }
      const read = yield* replyCodec.read(again(yield* replyCodec.write(reply)))
      assert.deepStrictEqual([read.text, read.finishReason], ["t", "stop"])
      assert.deepStrictEqual(read.content.map(({ type }) => type), content.map(({ type }) => type))
      const [, said, file, call, result, end] = read.content
      assert.strictEqual(said?.type === "text" && said.text, "t")
      assert.deepStrictEqual(file?.type === "file" && [file.mediaType, file.data], [
        "image/png",
        new Uint8Array([1, 2, 255])
      ])
      assert.deepInclude(call, { id: "c", name: "t", params: { a: [1] }, providerExecuted: false })
      assert.deepInclude(result, { id: "p", encodedResult: { n: "1" }, isFailure: false, providerExecuted: true })
      assert.deepInclude(end?.type === "finish" && end.usage.inputTokens, { total: 3 })
    }))

  it.effect("decodes an object by its schema, misfits with issues, refuses others", () =>
    Effect.gen(function*() {
      const codec = objectCodec(Schema.Struct({ on: Schema.Date, of: Schema.Option(Schema.String) }))
      const value = { on: new Date(0), of: Option.some("x") }
      const issues = [{ path: ["on"], expected: "a date", problem: "invalid" as const }]
      for (const result of [Result.succeed(value), Result.fail(issues)]) {
        const written = again(yield* codec.write({ content: content.slice(1, 3), value: result }))
        const read = yield* codec.read(written)
        assert.deepStrictEqual(read.value, result)
        assert.deepStrictEqual(read.content.map(({ type }) => type), ["text", "file"])
      }
      for (const odd of [{}, { content: [], value: { _tag: "Fits", value: { on: 1 } } }, { content: [], value: {} }]) {
        assert.isTrue(Exit.isFailure(yield* Effect.exit(codec.read(odd as never))))
      }
    }))

  it("arguments that are too deep become text; others do not change", () => {
    let deep: unknown = 1
    for (let index = 0; index < 300; index++) deep = [deep]
    const call = (params: unknown) =>
      Response.makePart("tool-call", { id: "c", name: "t", params, providerExecuted: false })
    const shallow = withShallowArguments(call(deep))
    assert.strictEqual(shallow.type === "tool-call" && typeof shallow.params, "string")
    for (const part of [call({ a: 1 }), content[1]!, { ...content[1]!, params: deep } as Response.AnyPart]) {
      assert.strictEqual(withShallowArguments(part), part)
    }
  })
})

describe("the cost of an answer", () => {
  const million = 1_000_000
  const prices = Budget.layerPrices({
    small: { input: 2, output: 10 },
    cached: { input: 2, cached: 0.5, cacheWrite: 3, output: 10 }
  })
  const named = (name: string) => Layer.succeed(Model.ModelName, name)
  const costOf = (
    tokens: { readonly input?: object; readonly output?: number; readonly modelId?: string; readonly usage?: null },
    ...layers: ReadonlyArray<Layer.Layer<never>>
  ) => {
    const parts = [
      text("y"),
      ...(tokens.modelId === undefined ? [] : [{ type: "response-metadata", modelId: tokens.modelId }]),
      {
        type: "finish",
        reason: "stop",
        usage: { inputTokens: tokens.input ?? {}, outputTokens: { total: tokens.output } }
      }
    ]
    return Agent.make("m", {}).report("x").pipe(
      Effect.map(({ exit, usage }) => {
        assert.isTrue(Exit.isSuccess(exit))
        return Math.round(usage.cost * 1e6) / 1e6
      }),
      Effect.provide(answering(parts)),
      Effect.provide(layers.reduce((one, other) => Layer.merge(one, other), Layer.empty))
    )
  }

  it.effect("prices each kind of tokens by the model that answered", () =>
    Effect.gen(function*() {
      const input = { total: million, cacheRead: 400_000, cacheWrite: 100_000 }
      const cases: ReadonlyArray<readonly [number, ...Parameters<typeof costOf>]> = [
        [12, { input: { total: million }, output: million }, prices, named("small")],
        [2, { input }, prices, named("small")],
        [1.5, { input }, prices, named("cached")],
        [1.5, { input, modelId: "cached" }, prices, named("small")],
        [2, { input, modelId: "unknown" }, prices, named("small")],
        [2, { input, modelId: "small" }, prices],
        // Some servers report a cache greater than the whole.
        [0.5, { input: { cacheRead: million } }, prices, named("cached")],
        [3, { input: { cacheWrite: million } }, prices, named("cached")],
        [10, { output: million }, prices, named("small")],
        [0, {}, prices, named("small")],
        [0, { input }, prices, named("toString")],
        [0, { input }, prices],
        [0, { input }, named("small")],
        [0, { input }]
      ]
      for (const [expected, tokens, ...layers] of cases) {
        assert.strictEqual(yield* costOf(tokens, ...layers), expected, JSON.stringify(tokens))
      }
    }))

  it.effect("a cap without a price says which agent and which model", () =>
    Effect.gen(function*() {
      const inner = (...layers: ReadonlyArray<Layer.Layer<never>>) =>
        Agent.make("inner", { budget: { cost: 1 } }).report("x").pipe(
          Effect.provide(answering([text("y"), { type: "response-metadata", modelId: "big" }, finish("stop")])),
          Effect.provide(layers.reduce((one, other) => Layer.merge(one, other), Layer.empty)),
          Effect.map(({ exit }) => {
            const defect = Exit.isFailure(exit) ? exit.cause.reasons.find(Cause.isDieReason)?.defect : undefined
            assert.instanceOf(defect, ConfigurationError.ConfigurationError)
            return [
              (defect as ConfigurationError.ConfigurationError).subject,
              (defect as ConfigurationError.ConfigurationError).problem
            ]
          })
        )
      const problem = (model: string) => [
        `Agent "inner"`,
        `budget.cost is set, and Budget.layerPrices has no price for ${model}`
      ]
      assert.deepStrictEqual(yield* inner(), problem("its model"))
      assert.deepStrictEqual(yield* inner(named("big")), problem(`the model "big"`))
      assert.deepStrictEqual(yield* inner(prices, named("big")), problem(`the model "big"`))
      assert.deepStrictEqual(yield* inner(prices), problem(`the model "big"`))
    }))
})

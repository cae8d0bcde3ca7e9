/** Answers of models: complete ones, their events and stored form, their cost, and decisions about a failed call. */
import { assert, describe, it } from "@effect/vitest"
import {
  Cause,
  Clock,
  DateTime,
  Duration,
  Effect,
  Exit,
  Fiber,
  Layer,
  Option,
  Result,
  Schedule,
  Schema,
  Stream
} from "effect"
import { AiError, LanguageModel, Model, Prompt, Response } from "effect/ai"
import { TestClock } from "effect/testing"
import {
  Agent,
  AgentEvent,
  Budget,
  ConfigurationError,
  Guardrail,
  ModelError,
  ModelProvider,
  Skill,
  Tool
} from "@recourse/core"
import { collect } from "../support/kit.ts"
import { finish, type Parts } from "../support/parts.ts"

const room = new URL("../../src/internal/model/", import.meta.url)

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

interface RetryNotice {
  readonly error: AiError.AiError
  readonly retry: number
  readonly delay: Duration.Duration
  readonly until: number
}
interface Waits {
  readonly mayRetry: boolean
  readonly mayRestart?: boolean
  readonly until?: number
  readonly hasTime: (now: number, millis: number) => boolean
  readonly onRetry: (notice: RetryNotice) => Effect.Effect<void>
}
type Decided = ModelError.Decision<unknown>
const { consult, isSubstitute } = await import(new URL("modelDecision.ts", room).href) as {
  readonly consult: (
    handler: ModelError.Handler<unknown, never, never>,
    failures: ReadonlyArray<{ readonly error: AiError.AiError; readonly at: number }>,
    options: Waits
  ) => Effect.Effect<Decided | "again", AiError.AiError>
  readonly isSubstitute: (answer: object) => boolean
}
const { withShallowArguments } = await import(new URL("responseParts.ts", room).href) as {
  readonly withShallowArguments: (part: Response.AnyPart) => Response.AnyPart
}

/** A model that gives one answer after another, streamed or not; the last again and again. */
const answering = (...answers: ReadonlyArray<ReadonlyArray<unknown>>): Layer.Layer<LanguageModel.LanguageModel> => {
  let index = 0
  const next = () => answers[Math.min(index++, answers.length - 1)] as Parts
  return Layer.effect(
    LanguageModel.LanguageModel,
    ModelProvider.make({
      generateText: () => Effect.sync(() => [...next()]),
      streamText: () => Stream.suspend(() => Stream.fromIterable(next() as ReadonlyArray<never>))
    })
  )
}

const text = (said: string) => ({ type: "text", text: said })
const streamedText = (said: string, id = "t") => [
  { type: "text-start", id },
  { type: "text-delta", id, delta: said },
  { type: "text-end", id }
]

const detailed = Layer.succeed(AgentEvent.Details, true)

/** Exit of a run; streamed or not. */
const exitOf = (agent: Agent.Agent<string, string, unknown, LanguageModel.LanguageModel>, streamed: boolean) =>
  streamed
    ? Effect.exit(Effect.map(Stream.runCollect(agent.stream("x")), (events) =>
      events.flatMap((event) =>
        event._tag === "TextDelta" ? [event.delta] : []
      ).join("")))
    : Effect.exit(agent.run("x"))

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

describe("events of a turn", () => {
  const Echo = Tool.make("echo", { parameters: Schema.Struct({ text: Schema.String }), execute: () => Effect.void })

  it.effect("include the choice of tools and the new part of the conversation", () =>
    Effect.gen(function*() {
      const choices: ReadonlyArray<readonly [Agent.TurnPlan<"echo">["toolChoice"], string | undefined]> = [
        [undefined, undefined],
        ["auto", undefined],
        ["required", "required"],
        ["none", "none"],
        [{ tool: "echo" }, `{"tool":"echo"}`]
      ]
      for (const [toolChoice, expected] of choices) {
        const { events, layer } = collect()
        const agent = Agent.make("a", { tools: [Echo], prepareTurn: () => ({ toolChoice }) })
        const call = { type: "tool-call", id: "c", name: "echo", params: { text: "x" } }
        yield* Effect.provide(agent.run("x"), [
          answering([call, finish("tool-calls")], [text("y"), finish("stop")]),
          layer,
          detailed
        ])
        const requested = events.filter((event) => event._tag === "ModelRequested")
        assert.deepStrictEqual(
          requested.map((event) => [event.kept, event.messages.content.map(({ role }) => role), event.toolChoice]),
          [[0, ["user"], expected], [1, ["assistant", "tool"], expected]]
        )
        assert.strictEqual("toolChoice" in requested[0]!, expected !== undefined)
      }
    }))

  it.effect("include a changed conversation from its first change on", () =>
    Effect.gen(function*() {
      const { events, layer } = collect()
      const user = (said: string) => Prompt.make(said).content[0]!
      const [one, two, three] = [user("1"), user("2"), user("3")]
      const prompts = [[one, two, three], [one, three], [one, three, two], [one]].map((messages) =>
        Prompt.fromMessages(messages)
      )
      const agent = Agent.make("a", { tools: [Echo], prepareTurn: ({ turn }) => ({ prompt: prompts[turn - 1] }) })
      const call = (
        id: number
      ) => [{ type: "tool-call", id: `c${id}`, name: "echo", params: { text: `${id}` } }, finish("tool-calls")]
      yield* Effect.provide(agent.run("x"), [
        answering(call(1), call(2), call(3), [text("y"), finish("stop")]),
        layer,
        detailed
      ])
      assert.deepStrictEqual(
        events.flatMap((event) => event._tag === "ModelRequested" ? [[event.kept, event.messages.content.length]] : []),
        [[0, 3], [1, 1], [2, 1], [1, 0]]
      )
    }))

  it.effect("include documents with and without a name, and final provider results", () =>
    Effect.gen(function*() {
      const document = { type: "source", sourceType: "document", id: "s", mediaType: "text/plain", title: "T" }
      const result = {
        type: "tool-result",
        id: "p",
        name: "search",
        result: 1,
        isFailure: false,
        providerExecuted: true
      }
      const parts = [
        { ...document, fileName: "a.txt" },
        document,
        { type: "tool-call", id: "p", name: "search", params: {}, providerExecuted: true },
        { ...result, preliminary: true },
        { ...result, result: 2 }
      ]
      for (const streamed of [false, true]) {
        const { events, layer } = collect()
        const said = streamed ? streamedText("y") : [text("y")]
        yield* Effect.provide(exitOf(Agent.make("a", {}), streamed), [
          answering([...parts, ...said, finish("stop")]),
          layer
        ])
        assert.deepStrictEqual(
          events.flatMap((event) =>
            event._tag === "ModelSource"
              ? [[event.mediaType, event.fileName, "fileName" in event, event.url]]
              : event._tag === "ProviderToolResult"
              ? [event.result]
              : []
          ),
          [["text/plain", "a.txt", true, undefined], ["text/plain", undefined, false, undefined], 2]
        )
      }
    }))

  it.effect("are delayed until a guard passes, and dropped if it stops", () =>
    Effect.gen(function*() {
      const unsafe = (category: string) => new Guardrail.UnsafeInput({ category })
      for (const verdict of ["pass", "stop"] as const) {
        const { events, layer } = collect()
        const seen: Array<number> = []
        const agent = Agent.make("a", {
          guardOutput: (output: string) =>
            Effect.suspend(() => {
              seen.push(events.filter(({ _tag }) => _tag === "TextDelta" || _tag === "ModelTurnFinished").length)
              return verdict === "pass" ? Effect.void : Effect.fail(unsafe(output))
            })
        })
        const exit = yield* Effect.provide(exitOf(agent, true), [
          answering([...streamedText("a", "1"), ...streamedText("b", "2"), finish("stop")]),
          layer
        ])
        assert.deepStrictEqual(seen, [0])
        assert.strictEqual(Exit.isSuccess(exit), verdict === "pass")
        assert.deepStrictEqual(
          events.flatMap((event) =>
            event._tag === "TextDelta" ? [event.delta] : /^Text|^ModelTurn/.test(event._tag) ? [event._tag] : []
          ),
          verdict === "pass"
            ? ["ModelTurnStarted", "a", "TextFinished", "b", "TextFinished", "ModelTurnFinished"]
            : ["ModelTurnStarted", "ModelTurnFailed"]
        )
      }
    }))
})

describe("the end of a turn", () => {
  const Echo = Tool.make("echo", { parameters: Schema.Struct({ text: Schema.String }), execute: () => Effect.void })
  const usage = { inputTokens: { total: 3, cacheRead: 1 }, outputTokens: { total: 2 } }
  const ended = (events: ReadonlyArray<AgentEvent.AgentEvent>) =>
    events.flatMap((event) =>
      event._tag === "ModelTurnFinished"
        ? [[event.text, event.toolCalls, event.finishReason, event.inputTokens, event.outputTokens]]
        : []
    )

  it.effect("has text, calls, reason and tokens, which the run sums up", () =>
    Effect.gen(function*() {
      const call = { type: "tool-call", id: "c", name: "echo", params: { text: "x" } }
      const executed = { type: "tool-call", id: "p", name: "search", params: {}, providerExecuted: true }
      const said = (words: string) => [text(words), text("!")]
      const { events, layer } = collect()
      const report = yield* Effect.provide(Agent.make("a", { tools: [Echo] }).report("x"), [
        answering(
          [...said("a"), executed, call, { type: "finish", reason: "tool-calls", usage }],
          [...said("b"), { type: "finish", reason: "stop", usage }]
        ),
        layer
      ])
      assert.deepStrictEqual(ended(events), [["a!", 1, "tool-calls", 3, 2], ["b!", 0, "stop", 3, 2]])
      assert.deepInclude(report.usage, { inputTokens: 6, cachedInputTokens: 2, outputTokens: 4, totalTokens: 10 })
      const heard = yield* Effect.provide(Stream.runCollect(Agent.make("a", {}).stream("x")), [
        answering([...streamedText("a", "1"), ...streamedText("!", "2"), { type: "finish", reason: "stop", usage }])
      ])
      assert.deepStrictEqual(ended([...heard]), [["a!", 0, "stop", 3, 2]])
    }))

  it.effect("of an invalid choice has the text without a reason or tools", () =>
    Effect.gen(function*() {
      const skills = ["read", "write"].map((name) => Skill.make(name, { description: name, tools: [Echo] }))
      for (const said of ["no object", ""]) {
        const { events, layer } = collect()
        yield* Effect.exit(Effect.provide(Agent.make("a", { skills }).run("x"), [
          answering([...(said === "" ? [] : [text(said)]), { type: "finish", reason: "stop", usage }]),
          layer,
          detailed
        ]))
        assert.deepStrictEqual(ended(events), [[said, 0, "unknown", 0, 0]])
        assert.deepStrictEqual(
          events.flatMap((event) => event._tag === "ModelRequested" ? [[event.tools, "toolChoice" in event]] : []),
          [[[], false]]
        )
      }
    }))

  it.effect("ends only started parts; arguments grow under the first name", () =>
    Effect.gen(function*() {
      const start = (id: string, name: string, more: object = {}) => ({ type: "tool-params-start", id, name, ...more })
      const delta = (id: string, delta: string) => ({ type: "tool-params-delta", id, delta })
      const events = yield* Effect.provide(Stream.runCollect(Agent.make("a", { tools: [Echo] }).stream("x")), [
        answering([
          { type: "text-end", id: "none" },
          delta("early", "x"),
          start("p", "search", { providerExecuted: true }),
          delta("p", "x"),
          start("c", "echo"),
          start("c", "other"),
          delta("c", "{}"),
          { type: "text-start", id: "t" },
          { type: "text-delta", id: "t", delta: "y" },
          { type: "text-end", id: "t" },
          { type: "text-end", id: "t" },
          { type: "reasoning-end", id: "t" },
          finish("stop")
        ])
      ])
      assert.deepStrictEqual(
        [...events].flatMap((event) =>
          event._tag === "ToolCallDelta"
            ? [[event.tool, event.callId, event.delta]]
            : /^(Text|Reasoning)/.test(event._tag)
            ? [event._tag]
            : []
        ),
        [["echo", "c", "{}"], "TextDelta", "TextFinished"]
      )
    }))

  it.effect("a partly emitted answer is not requested again after any error", () =>
    Effect.gen(function*() {
      for (
        const [parts, calls] of [
          [[{ type: "response-metadata", id: "r" }], 2],
          [[{ type: "response-metadata", id: "r" }, { type: "text-start", id: "t" }], 1]
        ] as const
      ) {
        let asked = 0
        const model = ModelProvider.make({
          generateText: () => Effect.die("not here"),
          streamText: () => {
            asked++
            const down = AiError.make({
              module: "T",
              method: "m",
              reason: new AiError.InternalProviderError({ description: "x" })
            })
            return Stream.concat(
              Stream.fromIterable(parts as ReadonlyArray<Response.StreamPartEncoded>),
              Stream.fail(down)
            )
          }
        })
        const agent = Agent.make("a", {
          onModelError: () => ModelError.retry({ times: 1, schedule: Schedule.forever })
        })
        const exit = yield* Effect.exit(Stream.runDrain(agent.stream("x"))).pipe(
          Effect.provideServiceEffect(LanguageModel.LanguageModel, model)
        )
        assert.isTrue(Exit.isFailure(exit))
        assert.strictEqual(asked, calls)
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

describe("decisions about a failed call", () => {
  const error = (retryAfter?: Duration.Input) =>
    AiError.make({
      module: "T",
      method: "m",
      reason: new AiError.RateLimitError({
        retryAfter: retryAfter === undefined ? undefined : Duration.fromInputUnsafe(retryAfter)
      })
    })

  interface Case {
    readonly decision: Decided | Effect.Effect<Decided>
    readonly failures?: number
    readonly retryAfter?: Duration.Input
    readonly options?: Partial<Waits>
    /** Milliseconds until the next call; absent: the error passes. */
    readonly waits: number | undefined
  }
  const every = (times: number, more: object = {}) =>
    ModelError.retry({ times, schedule: Schedule.spaced("100 millis"), ...more })
  const cases: Readonly<Record<string, Case>> = {
    "the error goes on": { decision: ModelError.rethrow, waits: undefined },
    "once more": { decision: every(1), waits: 100 },
    "as an effect": { decision: Effect.succeed(every(1)), waits: 100 },
    "the last of two": { decision: every(2), failures: 2, waits: 100 },
    "no more": { decision: every(2), failures: 3, waits: undefined },
    "never": { decision: every(0), waits: undefined },
    "a part was heard": { decision: every(1), options: { mayRetry: false }, waits: undefined },
    "a part was heard, and can be forgotten": {
      decision: every(1, { restart: true }),
      options: { mayRetry: false, mayRestart: true },
      waits: 100
    },
    "a part was heard, and cannot be forgotten": {
      decision: every(1, { restart: true }),
      options: { mayRetry: false, mayRestart: false },
      waits: undefined
    },
    "a part was heard, and nobody says that it can be forgotten": {
      decision: every(1, { restart: true }),
      options: { mayRetry: false },
      waits: undefined
    },
    "a part was heard, and is not to be forgotten": {
      decision: every(1),
      options: { mayRetry: false, mayRestart: true },
      waits: undefined
    },
    "the server asks for longer": { decision: every(1), retryAfter: "2 seconds", waits: 2_000 },
    "the server asks for less": { decision: every(1), retryAfter: "50 millis", waits: 100 },
    "the server asks for as long as may be": { decision: every(1), retryAfter: "60 seconds", waits: 60_000 },
    "the server asks for too long": { decision: every(1), retryAfter: "60001 millis", waits: undefined },
    "the server asks for longer than this program waits": {
      decision: every(1, { maxRetryAfter: "1 second" }),
      retryAfter: "2 seconds",
      waits: undefined
    },
    "there is no time for it": {
      decision: every(1),
      options: { hasTime: (now, millis) => now === 1_000 && millis < 100 },
      waits: undefined
    },
    "there is just the time": {
      decision: every(1),
      options: { hasTime: (now, millis) => now === 1_000 && millis <= 100 },
      waits: 100
    },
    "the schedule has ended": {
      decision: ModelError.retry({ times: 5, schedule: Schedule.recurs(1) }),
      failures: 2,
      waits: undefined
    },
    "the schedule says no wait": { decision: ModelError.retry({ times: 5, schedule: Schedule.recurs(5) }), waits: 0 },
    "an earlier life has begun to wait": { decision: every(1), options: { until: 1_030 }, waits: 30 },
    "an earlier life has waited": { decision: every(1), options: { until: 500 }, waits: 0 }
  }
  for (const [name, { decision, failures = 1, options, retryAfter, waits }] of Object.entries(cases)) {
    it.effect(name, () =>
      Effect.gen(function*() {
        yield* TestClock.setTime(1_000)
        const met = Array.from({ length: failures }, () => ({ error: error(retryAfter), at: 1_000 }))
        const told: Array<RetryNotice> = []
        const attempts: Array<number> = []
        const fiber = yield* Effect.forkChild(Effect.exit(consult(
          (_, { attempt }) => {
            attempts.push(attempt)
            return decision
          },
          met,
          {
            mayRetry: true,
            hasTime: () => true,
            onRetry: (notice) => Effect.sync(() => void told.push(notice)),
            ...options
          }
        )))
        yield* Effect.yieldNow
        if (waits !== undefined && waits > 0) {
          yield* TestClock.adjust(waits - 1)
          assert.isUndefined(fiber.pollUnsafe())
          yield* TestClock.adjust(1)
        }
        const exit = yield* Fiber.join(fiber)
        assert.strictEqual(yield* Clock.currentTimeMillis, 1_000 + (waits ?? 0))
        assert.deepStrictEqual(attempts, [failures])
        if (waits === undefined) assert.strictEqual(yield* Effect.flip(exit), met.at(-1)!.error)
        else assert.strictEqual(yield* exit, "again")
        assert.deepStrictEqual(
          told.map(({ delay, error, retry, until }) => [error, retry, Duration.toMillis(delay), until]),
          waits === undefined || options?.until !== undefined
            ? []
            : [[met.at(-1)!.error, failures, waits, 1_000 + waits]]
        )
      }))
  }

  it.effect("an answer in the model's place, whatever it is", () =>
    Effect.gen(function*() {
      for (const output of [0, null, undefined, { _tag: "RespondWith" }]) {
        const answer = ModelError.respondWith(output)
        const said = yield* consult(() => answer, [{ error: error(), at: 0 }], {
          mayRetry: false,
          hasTime: () => false,
          onRetry: () => Effect.void
        })
        assert.strictEqual(said, answer)
        assert.isTrue(isSubstitute(answer))
      }
      assert.isFalse(isSubstitute({ _tag: "Other" }))
      assert.isFalse(isSubstitute({}))
    }))

  it.effect("by default waits double from half a second, jittered, to thirty", () =>
    Effect.gen(function*() {
      const decision = ModelError.retry({ times: 12 })
      assert.deepInclude(decision, { times: 12, restart: false, maxRetryAfter: Duration.seconds(60) })
      const delays: Array<number> = []
      for (let failures = 1; failures <= 9; failures++) {
        const fiber = yield* Effect.forkChild(consult(
          () => decision,
          Array.from({ length: failures }, () => ({ error: error(), at: 0 })),
          {
            mayRetry: true,
            hasTime: () => true,
            onRetry: ({ delay }) => Effect.sync(() => void delays.push(Duration.toMillis(delay)))
          }
        ))
        yield* Effect.yieldNow
        yield* TestClock.adjust("2 minutes")
        yield* Fiber.join(fiber)
      }
      for (const [index, delay] of delays.entries()) {
        const whole = Math.min(500 * 2 ** index, 30_000)
        assert.isTrue(delay >= whole * 0.75 && delay <= whole * 1.25, `${index}: ${delay}`)
      }
    }))
})

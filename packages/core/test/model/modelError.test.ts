import { Drive, ScriptedModel } from "@recourse/testing"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Exit, Layer, Schedule, Schema, Stream } from "effect"
import { AiError, LanguageModel, Tool as AiTool, Toolkit } from "effect/ai"
import { Agent, ModelError, RunRecord, Tool } from "@recourse/core"
import { collect } from "../support/kit.ts"

const elapsed = <A, E, R>(effect: Effect.Effect<A, E, R>, step: "1 second" | "100 millis" = "1 second") =>
  Drive.drive(
    Effect.flatMap(Clock.currentTimeMillis, (start) =>
      Effect.flatMap(Effect.exit(effect), (exit) =>
        Effect.map(Clock.currentTimeMillis, (end) => ({ exit, time: end - start })))),
    { step }
  )

describe("decisions", () => {
  it.effect("rethrow by default, with the same error", () =>
    Effect.gen(function*() {
      const error = AiError.make({ module: "m", method: "x", reason: new AiError.UnknownError({}) })
      const failed = yield* Effect.flip(Agent.make("a", {}).run("x")).pipe(
        Effect.provide(ScriptedModel.layer([ScriptedModel.failWith(error)]))
      )
      assert.strictEqual(failed, error)
    }))

  it.effect("retry waits as long as the schedule and the error's retryAfter say", () =>
    Effect.gen(function*() {
      const agent = Agent.make("a", {
        onModelError: () => ModelError.retry({ times: 3, schedule: Schedule.exponential("1 second") })
      })
      const { exit, time } = yield* elapsed(
        agent.run("x").pipe(Effect.provide(ScriptedModel.layer([
          ScriptedModel.failure("InternalProviderError"),
          ScriptedModel.failure("RateLimitError", { retryAfter: "30 seconds" }),
          ScriptedModel.failure("InternalProviderError"),
          ScriptedModel.text("ok")
        ])))
      )
      assert.deepStrictEqual(exit, Exit.succeed("ok"))
      assert.strictEqual(time, 1_000 + 30_000 + 4_000)
    }))

  it.effect("a retryAfter above the cap fails at once", () =>
    Effect.gen(function*() {
      const agent = Agent.make("a", { onModelError: () => ModelError.retry({ times: 3, schedule: Schedule.forever }) })
      const { exit, time } = yield* elapsed(
        agent.run("x").pipe(Effect.provide(ScriptedModel.layer([
          ScriptedModel.failure("RateLimitError", { retryAfter: "61 seconds" })
        ])))
      )
      assert.isTrue(Exit.isFailure(exit))
      assert.strictEqual(time, 0)
      const patient = Agent.make("a", {
        onModelError: () => ModelError.retry({ times: 3, schedule: Schedule.forever, maxRetryAfter: "2 minutes" })
      })
      const waited = yield* elapsed(
        patient.run("x").pipe(Effect.provide(ScriptedModel.layer([
          ScriptedModel.failure("RateLimitError", { retryAfter: "61 seconds" }),
          ScriptedModel.text("ok")
        ])))
      )
      assert.strictEqual(waited.time, 61_000)
    }))

  it.effect("times are extra attempts, and exhaustion fails with the error itself", () =>
    Effect.gen(function*() {
      const { events, layer } = collect()
      const failure = ScriptedModel.failure("InternalProviderError")
      const program = Effect.gen(function*() {
        const error = yield* Effect.flip(
          Agent.make("a", { onModelError: () => ModelError.retry({ times: 2, schedule: Schedule.forever }) }).run("x")
        )
        yield* (yield* ScriptedModel.ScriptedModel).assertComplete
        return error
      })
      const error = yield* program.pipe(
        Effect.provide(layer),
        Effect.provide(ScriptedModel.layer([failure, failure, failure]))
      )
      assert.strictEqual(error, failure.error)
      assert.deepStrictEqual(
        events.filter((event) => event._tag === "ModelRetry").map((event) =>
          event._tag === "ModelRetry" && event.retry
        ),
        [1, 2]
      )
    }))

  it.effect("run at each failure: retry, then respond; the answer is marked", () =>
    Effect.gen(function*() {
      const asked: Array<number> = []
      const agent = Agent.make("a", {
        output: Schema.Int,
        onModelError: (_, { attempt }) => {
          asked.push(attempt)
          return attempt === 1
            ? ModelError.retry({ times: 5, schedule: Schedule.forever })
            : Effect.succeed(ModelError.respondWith(0))
        }
      })
      const report = yield* agent.report("x").pipe(Effect.provide(ScriptedModel.layer([
        ScriptedModel.failure("InternalProviderError"),
        ScriptedModel.failure("InternalProviderError")
      ])))
      assert.deepStrictEqual(report.exit, Exit.succeed(0))
      assert.deepStrictEqual(asked, [1, 2])
      const last = report.transcript.content.at(-1)
      assert.strictEqual(last?.role, "assistant")
      assert.deepStrictEqual(last?.options, { recourse: { synthetic: true } })
    }))

  it.effect("a turn's tools do not rerun after a later model failure", () =>
    Effect.gen(function*() {
      let runs = 0
      const tool = Tool.make("pay", { effects: "write", execute: () => Effect.sync(() => void runs++) })
      const agent = Agent.make("a", {
        tools: [tool],
        onModelError: () => ModelError.retry({ times: 2, schedule: Schedule.forever })
      })
      yield* agent.run("x").pipe(Effect.provide(ScriptedModel.layer([
        ScriptedModel.call("pay", {}),
        ScriptedModel.failure("NetworkError"),
        ScriptedModel.failure("NetworkError"),
        ScriptedModel.text("ok")
      ])))
      assert.strictEqual(runs, 1)
    }))

  it.effect("the cause of a failed run carries transcript, usage and executed calls", () =>
    Effect.gen(function*() {
      const tool = Tool.make("pay", { effects: "write", execute: () => Effect.void })
      const cause = yield* Effect.flip(Effect.sandbox(Agent.make("a", { tools: [tool] }).run("x"))).pipe(
        Effect.provide(ScriptedModel.layer([ScriptedModel.call("pay", {}), ScriptedModel.failure("NetworkError")]))
      )
      const record = yield* Effect.fromOption(RunRecord.fromCause(cause))
      assert.strictEqual(record.agent, "a")
      assert.deepStrictEqual(record.transcript.content.map((message) => message.role), ["user", "assistant", "tool"])
      assert.deepStrictEqual(record.executed.map((call) => [call.tool, call.outcome]), [["pay", "success"]])
      assert.strictEqual(record.usage.turns, 2)
      assert.strictEqual(record.usage.totalTokens, 15)
    }))
})

describe("incomplete answers", () => {
  const runs = { count: 0 }
  const tool = Tool.make("t", { effects: "write", execute: () => Effect.sync(() => void runs.count++) })
  for (const reason of ["length", "content-filter", "error", "other", "unknown", "missing"] as const) {
    it.effect(`with finish reason ${reason} run no tool, and are a failed model call`, () =>
      Effect.gen(function*() {
        runs.count = 0
        const turn = ScriptedModel.calls([{ name: "t", params: {} }], { text: "par", finishReason: reason })
        for (const streaming of [false, true]) {
          const agent = Agent.make("a", { tools: [tool] })
          const run: Effect.Effect<unknown, unknown, LanguageModel.LanguageModel> = streaming
            ? Stream.runDrain(agent.stream("x"))
            : agent.run("x")
          const error = yield* Effect.flip(run).pipe(Effect.provide(ScriptedModel.layer([turn])))
          assert.strictEqual((error as AiError.AiError)._tag, "AiError")
        }
        assert.strictEqual(runs.count, 0)
      }))
  }

  it.effect("that are empty are a failed model call, which may be retried", () =>
    Effect.gen(function*() {
      const agent = Agent.make("a", { onModelError: () => ModelError.retry({ times: 1, schedule: Schedule.forever }) })
      const answer = yield* agent.run("x").pipe(
        Effect.provide(ScriptedModel.layer([ScriptedModel.text(""), ScriptedModel.text("ok")]))
      )
      assert.strictEqual(answer, "ok")
    }))

  it.effect("cut streams are retried only before their first content part", () =>
    Effect.gen(function*() {
      const agent = Agent.make("a", { onModelError: () => ModelError.retry({ times: 1, schedule: Schedule.forever }) })
      const run = (after: number) =>
        Stream.runCollect(agent.stream("x")).pipe(
          Effect.provide(
            ScriptedModel.layer([
              ScriptedModel.cut(ScriptedModel.text("some words"), { after }),
              ScriptedModel.text("ok")
            ])
          ),
          Effect.exit
        )
      assert.isTrue(Exit.isSuccess(yield* run(0)))
      assert.isTrue(Exit.isFailure(yield* run(2)))
    }))
})

describe("layer", () => {
  const handler: ModelError.Handler<string, never, never> = (error) =>
    error.isRetryable ? ModelError.retry({ times: 2, schedule: Schedule.forever }) : ModelError.respondWith("sorry")
  const over = (turns: ReadonlyArray<ScriptedModel.Turn>) =>
    ModelError.layer(handler).pipe(Layer.provideMerge(ScriptedModel.layer(turns)))

  it.effect("retries below tool resolution: no tool runs twice", () =>
    Effect.gen(function*() {
      let runs = 0
      const kit = Toolkit.make(AiTool.make("pay", { success: Schema.Int }))
      const response = yield* LanguageModel.generateText({ prompt: "x", toolkit: kit }).pipe(
        Effect.provide(kit.toLayer({ pay: () => Effect.sync(() => ++runs) })),
        Effect.provide(over([ScriptedModel.failure("InternalProviderError"), ScriptedModel.call("pay", {})]))
      )
      assert.deepStrictEqual(response.toolResults.map((result) => result.result), [1])
      assert.strictEqual(runs, 1)
    }))

  it.effect("responds in the model's place, streamed or not", () =>
    Effect.gen(function*() {
      const script = over([ScriptedModel.failure("AuthenticationError")])
      const response = yield* LanguageModel.generateText({ prompt: "x" }).pipe(Effect.provide(script))
      assert.strictEqual(response.text, "sorry")
      const parts = yield* Stream.runCollect(LanguageModel.streamText({ prompt: "x" })).pipe(Effect.provide(script))
      assert.include(parts.map((part) => part.type), "text-delta")
    }))

  const streamed = Effect.exit(Effect.map(
    Stream.runCollect(LanguageModel.streamText({ prompt: "x" })),
    (parts) => parts.flatMap((part) => part.type === "text-delta" ? [part.delta] : []).join("")
  ))
  const asked = Effect.flatMap(
    ScriptedModel.ScriptedModel,
    ({ requests }) => Effect.map(requests, ({ length }) => length)
  )
  const down = ScriptedModel.failure("NetworkError")
  const refused = ScriptedModel.failure("AuthenticationError")
  const cut = (after: number) => ScriptedModel.cut(ScriptedModel.text("one two"), { after })

  it.effect.each<
    readonly [rule: string, turns: ReadonlyArray<ScriptedModel.Turn>, text: string | undefined, requests: number]
  >([
    ["is asked for again as often as the decision says", [down, down, ScriptedModel.text("ok")], "ok", 3],
    ["fails when that is used up", [down, down, down, ScriptedModel.text("late")], undefined, 3],
    ["is asked for again before its first content", [cut(0), ScriptedModel.text("ok")], "ok", 2],
    ["is not begun again once a part of it was told", [cut(2), ScriptedModel.text("ok")], undefined, 1],
    ["is answered by the program after a failure that it decides about", [down, refused], "sorry", 2]
  ])("a streamed answer %s", ([, turns, text, requests]) =>
    Effect.gen(function*() {
      const exit = yield* streamed
      assert.strictEqual(Exit.isSuccess(exit) ? exit.value : undefined, text)
      assert.strictEqual(yield* asked, requests)
    }).pipe(Effect.provide(over(turns))))

  it.effect("has no text instead of an object: the error passes", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(
        LanguageModel.generateObject({ prompt: "x", schema: Schema.Struct({ n: Schema.Int }) })
      )
      assert.strictEqual(error, refused.error)
      assert.strictEqual(yield* asked, 1)
    }).pipe(Effect.provide(over([refused]))))

  it.effect("repeats no object request that runs tools", () =>
    Effect.gen(function*() {
      let runs = 0
      const kit = Toolkit.make(AiTool.make("pay", { success: Schema.Int }))
      const exit = yield* Effect.exit(
        LanguageModel.generateObject({ prompt: "x", schema: Schema.Struct({ n: Schema.Int }), toolkit: kit }).pipe(
          Effect.provide(kit.toLayer({ pay: () => Effect.sync(() => ++runs) }))
        )
      )
      assert.isTrue(Exit.isFailure(exit))
      assert.deepStrictEqual([runs, yield* asked], [0, 1])
    }).pipe(Effect.provide(over([down, ScriptedModel.object({ n: 1 })]))))

  it.effect("repeats an object whose calls the program resolves itself", () =>
    Effect.gen(function*() {
      const kit = Toolkit.make(AiTool.make("pay", { success: Schema.Int }))
      const { value } = yield* LanguageModel.generateObject({
        prompt: "x",
        schema: Schema.Struct({ n: Schema.Int }),
        toolkit: kit,
        disableToolCallResolution: true
      }).pipe(Effect.provide(kit.toLayer({ pay: () => Effect.succeed(1) })))
      assert.deepStrictEqual(value, { n: 1 })
      assert.strictEqual(yield* asked, 2)
    }).pipe(Effect.provide(over([down, ScriptedModel.object({ n: 1 })]))))

  it.effect("repeats generateObject as a whole", () =>
    Effect.gen(function*() {
      const { value } = yield* LanguageModel.generateObject({ prompt: "x", schema: Schema.Struct({ n: Schema.Int }) })
        .pipe(
          Effect.provide(over([ScriptedModel.failure("NetworkError"), ScriptedModel.object({ n: 1 })]))
        )
      assert.deepStrictEqual(value, { n: 1 })
    }))
})

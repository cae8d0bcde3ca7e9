import { ScriptedModel } from "@recourse/testing"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Layer, Redacted, Schema } from "effect"
import { type LanguageModel, Model } from "effect/ai"
import { Agent, Approval, Budget, ConfigurationError, Policy, Recovery, Tool } from "@recourse/core"
import { collect, lastResults } from "../support/kit.ts"

const ran = { count: 0 }
const tool = (name: string) =>
  Tool.make(name, {
    parameters: Schema.Struct({ n: Schema.optionalKey(Schema.Number), text: Schema.optionalKey(Schema.String) }),
    success: Schema.Int,
    effects: "read",
    execute: () => Effect.sync(() => ++ran.count)
  }).pipe(Tool.onError(Recovery.escalate("InvalidArgs")))
const A = tool("a")
const B = tool("b")

const calls = (n: number, name = "a") => Array.from({ length: n }, (_, i) => ScriptedModel.call(name, { n: i }))

const reported = <E>(agent: Agent.Agent<string, string, E, never>) =>
  Effect.map(agent.report("x"), (report) => ({
    report,
    error: Exit.isFailure(report.exit)
      ? report.exit.cause.reasons.find(Cause.isFailReason)?.error as unknown
      : undefined
  }))

const exceededBy = <E>(agent: Agent.Agent<string, string, E, never>) =>
  Effect.map(reported(agent), ({ error, report }) => {
    assert.instanceOf(error, Budget.BudgetExceeded)
    return { error: error as Budget.BudgetExceeded, report }
  })

const capOf = ({ agent, limit, reason, used }: Budget.BudgetExceeded) => [reason, agent, limit, used]

const script = (...turns: ReadonlyArray<ScriptedModel.Turn>) => Agent.provide(ScriptedModel.layer(turns))

describe("an agent without a budget ends", () => {
  it.effect("after 50 turns", () =>
    Effect.gen(function*() {
      const { error, report } = yield* exceededBy(Agent.make("m", { tools: [A] }).pipe(script(...calls(60))))
      assert.deepStrictEqual(capOf(error), ["turns", "m", 50, 50])
      assert.strictEqual(report.usage.turns, 50)
    }))

  it.effect("an own cap, another default or Budget.unlimited replaces the built-in one", () =>
    Effect.gen(function*() {
      const agent = (budget?: Budget.Budget) =>
        Agent.make("m", { tools: [A], ...(budget === undefined ? {} : { budget }) }).pipe(
          script(...calls(60), ScriptedModel.text("done"))
        )
      const turns = (budget?: Budget.Budget, layer: Layer.Layer<never> = Layer.empty) =>
        Effect.map(Effect.provide(agent(budget).report("x"), layer), ({ usage }) => usage.turns)
      assert.strictEqual(yield* turns({ turns: 3 }), 3)
      assert.strictEqual(yield* turns({ tokens: 1e9 }), 50)
      assert.strictEqual(yield* turns(Budget.unlimited), 61)
      assert.strictEqual(yield* turns({ turns: Infinity }), 61)
      const five = Budget.layerDefaults({ turns: 5 })
      assert.strictEqual(yield* turns(undefined, five), 5)
      assert.strictEqual(yield* turns({ turns: 7 }, five), 7)
      assert.strictEqual(yield* turns(undefined, Budget.layerDefaults(Budget.unlimited)), 61)
      assert.strictEqual(yield* turns({ ...Budget.unlimited, toolCalls: 4 }), 5)
    }))

  it.effect("a new default applies to agents without it, including thresholds", () =>
    Effect.gen(function*() {
      const { events, layer: listener } = collect()
      const agent = Agent.make("m", { tools: [A] }).pipe(script(...calls(9)))
      const { error } = yield* exceededBy(agent).pipe(
        Effect.provide(Budget.layerDefaults({ toolCalls: 2, thresholds: [0, 1] })),
        Effect.provide(listener)
      )
      assert.deepStrictEqual(capOf(error), ["toolCalls", "m", 2, 2])
      const told = events.filter((event) => event._tag === "BudgetThreshold" && event.budget === "toolCalls")
      assert.deepStrictEqual(
        told.map((event) => event._tag === "BudgetThreshold" ? [event.threshold, event.used] : []),
        [[0, 1], [1, 2]]
      )
    }))

  it.effect("a program's default emits thresholds like the built-in one", () =>
    Effect.gen(function*() {
      const { events, layer: listener } = collect()
      const agent = Agent.make("m", { tools: [A] }).pipe(script(...calls(9)))
      yield* exceededBy(agent).pipe(Effect.provide(Budget.layerDefaults({ toolCalls: 5 })), Effect.provide(listener))
      assert.deepStrictEqual(
        events.flatMap((event) => event._tag === "BudgetThreshold" && event.budget === "toolCalls" ? [event.used] : []),
        [4]
      )
    }))

  it("names the cap, the agent and the used amount", () => {
    const said = (reason: Budget.Kind, tool?: string) =>
      new Budget.BudgetExceeded({ reason, agent: "m", limit: 2, used: 3, ...tool === undefined ? {} : { tool } })
        .message
    assert.strictEqual(said("turns"), "Budget of agent \"m\" exceeded: turns, limit 2, used 3")
    assert.strictEqual(said("duration"), "Budget of agent \"m\" exceeded: duration, limit 2 ms, used 3 ms")
    assert.strictEqual(
      said("retriesPerTool", "pay"),
      "Budget of agent \"m\" exceeded: retriesPerTool of tool \"pay\", limit 2, used 3"
    )
  })

  it.effect("ends with more than 8 levels of agents; functions are no levels", () =>
    Effect.gen(function*() {
      const deepest: Array<number> = []
      const level = (depth: number): Agent.Agent<string, string, unknown, LanguageModel.LanguageModel> => {
        const deeper = Tool.make("deeper", {
          success: Schema.String,
          execute: () =>
            Effect.suspend(() =>
              Agent.fromFunction("fn", (text: string) => level(depth + 1).run(text)).run("go")
            ) as Effect.Effect<
              string,
              Error,
              LanguageModel.LanguageModel
            >
        })
        deepest.push(depth)
        return Agent.make(`level ${depth}`, { tools: [deeper] }) as never
      }
      const deep = Array.from({ length: 40 }, () => ScriptedModel.call("deeper", {}))
      const { error } = yield* exceededBy(level(0).pipe(script(...deep)))
      assert.deepStrictEqual(capOf(error), ["maxDepth", "level 0", 8, 9])
      assert.strictEqual(Math.max(...deepest), 9)
    }))

  it.effect("runs no part of a call with over 262,144 characters of arguments", () =>
    Effect.gen(function*() {
      for (const params of [{ text: "x".repeat(262_144) }, `{"text":"${"x".repeat(262_144)}"}`]) {
        ran.count = 0
        const { error, report } = yield* exceededBy(
          Agent.make("m", { tools: [A] }).pipe(script(ScriptedModel.call("a", params)))
        )
        assert.deepStrictEqual([...capOf(error).slice(0, 3), error.tool], ["argumentSize", "m", 262_144, "a"])
        assert.isAbove(error.used, 262_144)
        assert.strictEqual(ran.count, 0)
        assert.deepStrictEqual(lastResults(report.transcript).map(({ isFailure }) => isFailure), [true])
      }
      const small = { text: "x".repeat(262_000) }
      const fits = Agent.make("m", { tools: [A] }).pipe(
        script(ScriptedModel.call("a", small), ScriptedModel.text("ok"))
      )
      assert.strictEqual(yield* fits.run("x"), "ok")
    }))

  it.effect("arguments of a fixer are held to it too", () =>
    Effect.gen(function*() {
      ran.count = 0
      const fixer = Agent.fromFunction("f", (_: Recovery.FixRequest) => Effect.succeed(`{"text":"${"x".repeat(100)}"}`))
      const strict = Tool.make("strict", {
        parameters: Schema.Struct({ text: Schema.String }),
        execute: () => Effect.sync(() => void ran.count++)
      }).pipe(Tool.onError(Recovery.fix("InvalidArgs", fixer)))
      const agent = Agent.make("m", { tools: [strict], budget: { argumentSize: 100 } })
      const { error } = yield* exceededBy(agent.pipe(script(ScriptedModel.call("strict", {}))))
      assert.deepStrictEqual([error.reason, error.tool, ran.count], ["argumentSize", "strict", 0])
    }))
})

describe("sameToolInARow", () => {
  it.effect("counts consecutive calls of one tool; another tool resets the count", () =>
    Effect.gen(function*() {
      ran.count = 0
      const agent = Agent.make("m", { tools: [A, B], budget: { sameToolInARow: 3 } }).pipe(
        script(
          ...calls(3),
          ...calls(1, "b"),
          ScriptedModel.calls([{ name: "a", params: {} }, { name: "a", params: { n: 1 } }]),
          ...calls(2),
          ScriptedModel.text("never")
        )
      )
      const { error, report } = yield* exceededBy(agent)
      assert.deepStrictEqual([...capOf(error), error.tool], ["sameToolInARow", "m", 3, 3, "a"])
      assert.deepStrictEqual([ran.count, report.usage.turns], [7, 7])
    }))

  it.effect("continues the count behind a pause", () =>
    Effect.gen(function*() {
      const options = {
        tools: [A],
        policies: [
          Policy.make("third", ({ arguments: args }) =>
            (args as { n?: number }).n === 2 ? Policy.requireApproval("look") : Policy.allow, {
            mayRequestApproval: true
          })
        ],
        budget: { sameToolInARow: 3 }
      } as const
      const key = Approval.layerKey(Redacted.make("k".repeat(32)))
      const before = ScriptedModel.layer(calls(3))
      const paused = yield* Agent.make("m", options).start("x").pipe(Effect.provide([before, key]))
      assert.strictEqual(paused._tag, "Paused")
      if (paused._tag !== "Paused") {
        return
      }
      const approve = paused.pending.map((call) =>
        Approval.approve(call)
      )
      const resumed = Agent.make("m", options).resume(paused.snapshot, approve).pipe(
        Effect.provide([ScriptedModel.layer([...calls(1), ScriptedModel.text("done")]), key])
      )
      const error = yield* Effect.flip(resumed)
      assert.instanceOf(error, Budget.BudgetExceeded)
      assert.strictEqual((error as Budget.BudgetExceeded).reason, "sameToolInARow")
    }))
})

describe("cost", () => {
  const model = (usage: ReadonlyArray<{ input: number; output: number; cached?: number }>) =>
    ScriptedModel.layer([
      ...usage.map((usage) => ({ ...ScriptedModel.call("a", {}), usage })),
      ScriptedModel.text("done", { usage: { input: 1, output: 1 } })
    ])
  const named = Layer.succeed(Model.ModelName, "small-1")
  const prices = Budget.layerPrices({ "small-1": { input: 2, cached: 0.5, output: 10 } })

  it.effect("prices tokens and cached tokens; a cap ends before the next request", () =>
    Effect.gen(function*() {
      const { events, layer: listener } = collect()
      const agent = Agent.make("m", { tools: [A], budget: { cost: 5 } })
      const report = yield* agent.report("x").pipe(
        Effect.provide([
          model([
            { input: 1_000_000, output: 100_000, cached: 400_000 },
            { input: 1_000_000, output: 1 },
            { input: 1, output: 1 }
          ]),
          prices,
          named,
          listener
        ])
      )
      // 0.6 · 2 + 0.4 · 0.5 + 0.1 · 10 = 2.4, then 2.00001: below 5; then 0.000012, and 0.000012 for the text.
      assert.approximately(report.usage.cost, 4.400034, 1e-9)
      assert.strictEqual(report.usage.cachedInputTokens, 400_000)
      assert.isTrue(Exit.isSuccess(report.exit))
      assert.deepStrictEqual(
        events.flatMap((event) => event._tag === "BudgetThreshold" ? [[event.budget, event.limit]] : []),
        [["cost", 5]]
      )
      const tight = yield* exceededBy(
        Agent.make("m", { tools: [A], budget: { cost: 2.25 } }).pipe(
          Agent.provide(Layer.mergeAll(model([{ input: 1_000_000, output: 100_000, cached: 400_000 }]), prices, named))
        )
      )
      assert.deepStrictEqual(capOf(tight.error), ["cost", "m", 2.25, 2.4])
      assert.strictEqual(tight.report.usage.turns, 1)
    }))

  it.effect("refuses a cap without a price, before the first request if possible", () =>
    Effect.gen(function*() {
      for (
        const [layers, requests] of [
          [[named], 0],
          [[Budget.layerPrices({ "small-2": { input: 1, output: 1 } }), named], 0],
          [[Budget.layerPrices({ toString: { input: 1, output: 1 } }), Layer.succeed(Model.ModelName, "valueOf")], 0],
          [[prices], 1]
        ] as const
      ) {
        const report = yield* Agent.make("m", { tools: [A], budget: { cost: 1 } }).report("x").pipe(
          Effect.provide(model([{ input: 1, output: 1 }])),
          Effect.provide(Layer.mergeAll(...layers as readonly [Layer.Layer<never>]))
        )
        const defect = Exit.isFailure(report.exit) ? report.exit.cause.reasons.find(Cause.isDieReason)?.defect : 0
        assert.instanceOf(defect, ConfigurationError.ConfigurationError)
        assert.strictEqual(report.usage.turns, requests)
      }
    }))

  it("prices and caps that are no numbers are refused", () => {
    assert.throws(() => Budget.layerPrices({ a: { input: -1, output: 1 } }), /a.input is -1/)
    assert.throws(() => Budget.layerPrices({ a: { input: NaN, output: 1 } }), /a.input is NaN/)
    assert.throws(() => Budget.layerDefaults({ turns: 1.5 }), /budget.turns/)
    assert.throws(() => Agent.make("m", { budget: { cost: NaN } }), /budget.cost/)
    assert.throws(() => Budget.layerPrices({ a: { input: 1, output: 1, cached: Infinity } }), /a.cached is Infinity/)
    Budget.layerPrices({ free: { input: 0, output: 0, cached: undefined } })
    for (const threshold of [1.1, -0.1]) {
      assert.throws(() => Agent.make("m", { budget: { thresholds: [threshold] } }), /thresholds/)
    }
    assert.strictEqual(Agent.make("m", { budget: { toolCalls: 0, maxDepth: 0 } }).name, "m")
    assert.strictEqual(Agent.make("m", { budget: { cost: 0.5, thresholds: [0, 1] } }).name, "m")
  })
})

it.effect("extends levels and sizes while the run continues", () =>
  Effect.gen(function*() {
    const asked: Array<Budget.Kind> = []
    const agent = Agent.make("m", {
      tools: [A],
      budget: { argumentSize: 20, sameToolInARow: 1 },
      onBudgetExceeded: (error) => {
        asked.push(error.reason)
        return Effect.succeed(Budget.extend({ [error.reason]: 1000 }))
      }
    }).pipe(script(ScriptedModel.call("a", { text: "x".repeat(50) }), ...calls(3), ScriptedModel.text("done")))
    assert.strictEqual(yield* agent.run("x"), "done")
    assert.deepStrictEqual(asked, ["argumentSize", "sameToolInARow"])
  }))

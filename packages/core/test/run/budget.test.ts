import { Drive, ScriptedModel } from "@recourse/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Schedule, Schema } from "effect"
import { Agent, Budget, ConfigurationError, Recovery, Tool } from "@recourse/core"
import { collect, flaky, lastResults } from "../support/kit.ts"

const failing = Tool.make("failing", {
  parameters: Schema.Struct({ n: Schema.optionalKey(Schema.Number) }),
  effects: "read",
  execute: () => Effect.fail("no" as const)
}).pipe(Tool.onError(Recovery.escalate("ExecutionError", "InvalidArgs")))

const ok = Tool.make("ok", {
  parameters: Schema.Struct({ n: Schema.optionalKey(Schema.Number) }),
  success: Schema.Int,
  effects: "read",
  execute: () => Effect.succeed(1)
})

const calls = (n: number, name = "ok") => Array.from({ length: n }, (_, i) => ScriptedModel.call(name, { n: i }))

const exceeded = (agent: Agent.Agent<string, string, unknown, never>) =>
  Effect.map(agent.report("x"), (report) => {
    assert.isTrue(Exit.isFailure(report.exit))
    const error = Exit.isFailure(report.exit)
      ? report.exit.cause.reasons.find((reason) => reason._tag === "Fail")?.error
      : 0
    assert.instanceOf(error, Budget.BudgetExceeded)
    return { error: error as Budget.BudgetExceeded, report }
  })

describe("caps", () => {
  it.effect("turns: n means n model calls", () =>
    Effect.gen(function*() {
      const agent = (turns: number) =>
        Agent.make("a", { tools: [ok], budget: { turns } }).pipe(
          Agent.provide(ScriptedModel.layer([...calls(3), ScriptedModel.text("done")]))
        )
      assert.strictEqual(yield* agent(4).run("x"), "done")
      const { error, report } = yield* exceeded(agent(3))
      assert.deepStrictEqual([error.reason, error.limit, error.used, report.usage.turns], ["turns", 3, 3, 3])
    }))

  it.effect("toolCalls: n means n executions, retries included", () =>
    Effect.gen(function*() {
      const { state, tool } = flaky(9, "read")
      const agent = Agent.make("a", {
        tools: [tool.pipe(Tool.onError((call) => Effect.retry(call, { times: 100 })))],
        budget: { toolCalls: 3 }
      }).pipe(Agent.provide(ScriptedModel.layer([ScriptedModel.call("flaky", { n: 1 })])))
      const { error, report } = yield* exceeded(agent)
      assert.strictEqual(error.reason, "toolCalls")
      assert.strictEqual(state.runs, 3)
      assert.strictEqual(report.usage.toolCalls, 3)
    }))

  it.effect("retriesPerTool limits raw Effect.retry, and lawful retry stops before it", () =>
    Effect.gen(function*() {
      const script = () => ScriptedModel.layer([ScriptedModel.call("flaky", { n: 1 }), ScriptedModel.text("done")])
      const raw = flaky(9, "read")
      const { error } = yield* exceeded(
        Agent.make("a", {
          tools: [raw.tool.pipe(Tool.onError((call) => Effect.retry(call, { times: 100 })))],
          budget: { retriesPerTool: 2 }
        }).pipe(Agent.provide(script()))
      )
      assert.deepStrictEqual([error.reason, error.tool, raw.state.runs], ["retriesPerTool", "flaky", 3])

      const lawful = flaky(9, "read")
      const answer = yield* Agent.make("a", {
        tools: [
          lawful.tool.pipe(
            Tool.onError((call) =>
              call.pipe(Recovery.retry({ times: 100, schedule: Schedule.forever }), Recovery.escalate("ExecutionError"))
            )
          )
        ],
        budget: { retriesPerTool: 2 }
      }).pipe(Agent.provide(script())).run("x")
      assert.deepStrictEqual([answer, lawful.state.runs], ["done", 3])
    }))

  it.effect("catching everything in a tool's recovery does not get around it", () =>
    Effect.gen(function*() {
      const { tool } = flaky(9, "read")
      const agent = Agent.make("a", {
        tools: [tool.pipe(Tool.onError((call) =>
          call.pipe(Effect.retry({ times: 100 }), Effect.catchCause(() => Effect.succeed(0)))
        ))],
        budget: { retriesPerTool: 1 }
      }).pipe(Agent.provide(ScriptedModel.layer([ScriptedModel.call("flaky", { n: 1 }), ScriptedModel.text("done")])))
      const { error } = yield* exceeded(agent)
      assert.strictEqual(error.reason, "retriesPerTool")
    }))

  it.effect("fixes counts how often a fixer is asked", () =>
    Effect.gen(function*() {
      let asked = 0
      const fixer = Agent.fromFunction("f", () => Effect.sync(() => `{"x":${++asked}}`))
      const strict = Tool.make("strict", {
        parameters: Schema.Struct({ a: Schema.String }),
        execute: () => Effect.void
      })
      const agent = Agent.make("a", {
        tools: [strict.pipe(Tool.onError(Recovery.fix("InvalidArgs", fixer, { times: 10 })))],
        budget: { fixes: 2 }
      }).pipe(Agent.provide(ScriptedModel.layer([ScriptedModel.call("strict", {})])))
      const { error } = yield* exceeded(agent)
      assert.deepStrictEqual([error.reason, asked], ["fixes", 2])
    }))

  it.effect("allFailureRounds counts rounds in a row, and a success starts again", () =>
    Effect.gen(function*() {
      const turns = [
        ...calls(2, "failing"),
        ScriptedModel.calls([{ name: "failing", params: { n: 7 } }, { name: "ok", params: {} }]),
        ...calls(3, "failing").map((turn, i) => ScriptedModel.call("failing", { n: 10 + i + turn.calls!.length })),
        ScriptedModel.text("never")
      ]
      const agent = Agent.make("a", { tools: [failing, ok], budget: { allFailureRounds: 3 } }).pipe(
        Agent.provide(ScriptedModel.layer(turns))
      )
      const { error, report } = yield* exceeded(agent)
      assert.deepStrictEqual([error.reason, report.usage.turns], ["allFailureRounds", 6])
    }))

  it.effect("counts the provider's tokens, and checks them before each model call", () =>
    Effect.gen(function*() {
      const agent = Agent.make("a", { tools: [ok], budget: { tokens: 30 } }).pipe(
        Agent.provide(ScriptedModel.layer([...calls(3), ScriptedModel.text("never")]))
      )
      const { error, report } = yield* exceeded(agent)
      assert.deepStrictEqual([error.reason, error.used, report.usage.turns], ["tokens", 30, 2])
    }))

  it.effect("interrupts at the deadline, within a tool, with one result per call", () =>
    Effect.gen(function*() {
      let interrupted = 0
      const hang = Tool.make("hang", {
        execute: () => Effect.onInterrupt(Effect.never, () => Effect.sync(() => interrupted++))
      }).pipe(Tool.onError((call) => Effect.retry(call, { times: 3 })))
      const agent = Agent.make("a", { tools: [hang, ok], budget: { duration: "5 seconds" } }).pipe(
        Agent.provide(
          ScriptedModel.layer([ScriptedModel.calls([{ name: "ok", params: {} }, { name: "hang", params: {} }])])
        )
      )
      const { error, report } = yield* Drive.drive(exceeded(agent), { step: "1 second" })
      assert.deepStrictEqual([error.reason, error.limit, error.used, interrupted], ["duration", 5000, 5000, 1])
      assert.deepStrictEqual(lastResults(report.transcript).map((result) => [result.id, result.isFailure]), [
        ["call_1", false],
        ["call_2", true]
      ])
    }))

  it.effect("charges nested agents to their parents, and stops at their own caps", () =>
    Effect.gen(function*() {
      const Ask = Agent.make("inner", {
        input: Schema.Struct({ q: Schema.String }),
        tools: [ok],
        budget: { turns: 2 }
      }).pipe(
        Agent.asTool("ask", {
          description: "Asks",
          parameters: Schema.Struct({ q: Schema.String }),
          success: Schema.String
        }),
        Tool.onError(Recovery.escalate("ExecutionError"))
      )
      const script = [
        ScriptedModel.call("ask", { q: "1" }),
        ...calls(2),
        ScriptedModel.text("done")
      ]
      const outer = Agent.make("outer", { tools: [Ask] }).pipe(Agent.provide(ScriptedModel.layer(script)))
      const report = yield* outer.report("x")
      assert.deepStrictEqual(report.exit, Exit.succeed("done"))
      assert.strictEqual(report.usage.turns, 4)

      const capped = Agent.make("outer", { tools: [Ask], budget: { turns: 2 } }).pipe(
        Agent.provide(ScriptedModel.layer(script))
      )
      const { error } = yield* exceeded(capped)
      assert.deepStrictEqual([error.agent, error.reason], ["outer", "turns"])
    }))
})

describe("extension", () => {
  it.effect("a handler extends a cap, and the run continues", () =>
    Effect.gen(function*() {
      const asked: Array<number> = []
      const { events, layer } = collect()
      const agent = Agent.make("a", {
        tools: [ok],
        budget: { turns: 2 },
        onBudgetExceeded: (error) => {
          asked.push(error.limit)
          return Effect.succeed(asked.length === 1 ? Budget.extend({ turns: 2 }) : undefined)
        }
      }).pipe(Agent.provide(ScriptedModel.layer([...calls(9)])))
      const { error } = yield* exceeded(agent).pipe(Effect.provide(layer))
      assert.deepStrictEqual([asked, error.limit], [[2, 4], 4])
      assert.strictEqual(events.filter((event) => event._tag === "BudgetExtended").length, 1)
    }))

  it.effect("of the deadline lets a tool finish", () =>
    Effect.gen(function*() {
      const slow = Tool.make("slow", { success: Schema.Int, execute: () => Effect.as(Effect.sleep("8 seconds"), 1) })
      const agent = Agent.make("a", {
        tools: [slow],
        budget: { duration: "5 seconds" },
        onBudgetExceeded: () => Effect.succeed(Budget.extend({ duration: "10 seconds" }))
      }).pipe(Agent.provide(ScriptedModel.layer([ScriptedModel.call("slow", {}), ScriptedModel.text("done")])))
      assert.strictEqual(yield* Drive.drive(agent.run("x"), { step: "1 second" }), "done")
    }))

  it.effect("parallel calls that reach a cap ask once for each step", () =>
    Effect.gen(function*() {
      let asked = 0
      const agent = Agent.make("a", {
        tools: [ok],
        budget: { toolCalls: 1 },
        onBudgetExceeded: () => Effect.as(Effect.sync(() => asked++), Budget.extend({ toolCalls: 1 }))
      }).pipe(Agent.provide(ScriptedModel.layer([
        ScriptedModel.calls([1, 2, 3, 4].map((n) => ({ name: "ok", params: { n } }))),
        ScriptedModel.text("done")
      ])))
      const report = yield* agent.report("x")
      assert.deepStrictEqual([report.usage.toolCalls, asked], [4, 3])
    }))
})

describe("thresholds and bad input", () => {
  it.effect("shares of a cap are events, once each", () =>
    Effect.gen(function*() {
      const { events, layer } = collect()
      yield* Agent.make("a", { tools: [ok], budget: { turns: 5, thresholds: [0.4, 0.8] } }).run("x").pipe(
        Effect.provide(layer),
        Effect.provide(ScriptedModel.layer([...calls(4), ScriptedModel.text("done")]))
      )
      assert.deepStrictEqual(
        events.flatMap((event) => event._tag === "BudgetThreshold" ? [[event.threshold, event.used]] : []),
        [[0.4, 2], [0.8, 4]]
      )
    }))

  it("caps that make no sense are refused at construction", () => {
    for (const budget of [{ turns: -1 }, { tokens: 1.5 }, { toolCalls: NaN }, { duration: 0 }, { thresholds: [2] }]) {
      assert.throws(() => Agent.make("a", { budget }), ConfigurationError.ConfigurationError)
    }
  })
})

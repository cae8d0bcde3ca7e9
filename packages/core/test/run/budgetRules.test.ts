/** Rules of a used-up budget, and of a denied call, one by one: no path bypasses them. */
import { assert, describe, it } from "@effect/vitest"
import { Drive, ScriptedModel } from "@recourse/testing"
import { Cause, Effect, Exit, Schedule, Schema } from "effect"
import { Agent, Audit, Budget, Policy, Recovery, Tool, ToolCall } from "@recourse/core"

const { call, calls, text } = ScriptedModel

const counted = (name: string) => {
  const state = { runs: 0 }
  const tool = Tool.make(name, { success: Schema.Int, effects: "read", execute: () => Effect.sync(() => ++state.runs) })
  return { state, tool }
}

const Fails = Tool.make("fails", { effects: "read", execute: () => Effect.fail("no" as const) })

const by = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.flatMap(
    ToolCall.ToolCall,
    (outer) => Effect.provideService(effect, ToolCall.ToolCall, { ...outer, arguments: {} })
  )

describe("arguments of a call", () => {
  // {"s":"..."} is eight characters longer than its text.
  const sized = (length: number) => ({ s: "x".repeat(length - 8) })
  for (const form of ["an object", "text"]) {
    it.effect(`may have as many characters as the cap, and no more: ${form}`, () =>
      Effect.gen(function*() {
        let runs = 0
        const tool = Tool.make("take", {
          parameters: Schema.Struct({ s: Schema.String }),
          effects: "read",
          execute: () => Effect.sync(() => void runs++)
        })
        const inner = Agent.make("m", { tools: [tool], budget: { argumentSize: 50 } })
        const run = (length: number) => {
          const args = form === "text" ? JSON.stringify(sized(length)) : sized(length)
          return inner.run("go").pipe(Effect.provide(ScriptedModel.layer([call("take", args), text("done")])))
        }
        yield* run(50)
        assert.strictEqual(runs, 1)
        for (const length of [51, 500]) {
          const error = yield* Effect.flip(run(length)) as Effect.Effect<Budget.BudgetExceeded>
          assert.deepInclude(error, { reason: "argumentSize", limit: 50, used: length, tool: "take" })
        }
        assert.strictEqual(runs, 1)
      }))
  }
})

describe("after a used-up budget", () => {
  it.effect("runs no call though recovery swallows the stop and other caps remain", () =>
    Effect.gen(function*() {
      const { state, tool } = counted("other")
      const swallows = Fails.pipe(
        Tool.onError((attempt) => Effect.catchCause(Effect.retry(attempt, { times: 3 }), () => by(tool.call)))
      )
      const { exit } = yield* Agent.make("a", { tools: [swallows], budget: { retriesPerTool: 1 } }).report("go")
      assert.strictEqual(state.runs, 0)
      assert.instanceOf(Exit.isFailure(exit) ? Cause.squash(exit.cause) : exit, Budget.BudgetExceeded)
    }).pipe(Effect.provide(ScriptedModel.layer([call("fails", {}), text("done")]))))

  it.effect("runs no call in an agent as tool under the outer budget", () =>
    Effect.gen(function*() {
      const { state, tool } = counted("other")
      const swallows = Fails.pipe(
        Tool.onError((attempt) => Effect.catchCause(Effect.retry(attempt, { times: 3 }), () => by(tool.call)))
      )
      const Inner = Agent.make("inner", { input: Schema.Struct({}), tools: [swallows] }).pipe(
        Agent.asTool("inner", { description: "Does it", parameters: Schema.Struct({}), success: Schema.String })
      )
      const { exit } = yield* Agent.make("a", { tools: [Inner], budget: { retriesPerTool: 1 } }).report("go")
      assert.strictEqual(state.runs, 0)
      assert.instanceOf(Exit.isFailure(exit) ? Cause.squash(exit.cause) : exit, Budget.BudgetExceeded)
    }).pipe(Effect.provide(ScriptedModel.layer([call("inner", {}), call("fails", {}), text("done"), text("done")]))))

  for (
    const [granted, asked, runs] of [[undefined, 1, 1], [Budget.extend({ toolCalls: 5 }), 1, 4]] as const
  ) {
    it.effect(`one of parallel calls asks, all get its answer (${granted === undefined ? "no" : "yes"})`, () =>
      Effect.gen(function*() {
        const { state, tool } = counted("ok")
        let times = 0
        const agent = Agent.make("a", {
          // The others wait for the answer, and are not interrupted.
          tools: [tool.pipe(Tool.onError((attempt) => Effect.uninterruptible(attempt)))],
          budget: { toolCalls: 1 },
          onBudgetExceeded: () =>
            Effect.as(Effect.andThen(Effect.sync(() => times++), Effect.sleep("1 second")), granted)
        })
        yield* Drive.drive(agent.report("go"))
        assert.deepStrictEqual([times, state.runs], [asked, runs])
      }).pipe(Effect.provide(ScriptedModel.layer([
        calls(["a", "b", "c", "d"].map((id) => ({ name: "ok", params: {}, id }))),
        text("done")
      ]))))
  }

  it.effect("a success in an inner agent ends the outer row of failures", () =>
    Effect.gen(function*() {
      const { tool } = counted("ok")
      const lenient = Fails.pipe(Tool.onError(Recovery.escalate("ExecutionError", "InvalidArgs")))
      const Inner = Agent.make("inner", { input: Schema.Struct({}), tools: [tool] }).pipe(
        Agent.andThen(Agent.fromFunction("check", (_: string) => Effect.fail("no" as const))),
        Agent.asTool("inner", { description: "Does it", parameters: Schema.Struct({}), success: Schema.String }),
        Tool.onError(Recovery.escalate("ExecutionError", "InvalidArgs"))
      )
      const { exit } = yield* Agent.make("a", { tools: [lenient, Inner], budget: { allFailureRounds: 2 } }).report("go")
      assert.deepStrictEqual(exit, Exit.succeed("done"))
    }).pipe(Effect.provide(ScriptedModel.layer([
      call("fails", {}, { id: "1" }),
      call("inner", {}, { id: "2" }),
      call("ok", {}, { id: "i" }),
      text("ok"),
      text("done")
    ]))))

  it.effect("a retry behind a fix is a retry", () =>
    Effect.gen(function*() {
      let runs = 0
      const fixer = Agent.fromFunction("fixer", (_: Recovery.FixRequest) => Effect.succeed(`{"n":3}`))
      const Count = Tool.make("count", {
        parameters: Schema.Struct({ n: Schema.Int }),
        effects: "read",
        execute: () => Effect.suspend(() => ++runs < 4 ? Effect.fail("no" as const) : Effect.void)
      }).pipe(
        Tool.onError((attempt) =>
          Recovery.retry({ times: 3, schedule: Schedule.forever })(Recovery.fix("InvalidArgs", fixer)(attempt))
        ),
        Tool.onError((attempt) => Effect.catchTag(attempt, "ExecutionError", () => Effect.void))
      )
      const { usage } = yield* Agent.make("a", { tools: [Count] }).report("go")
      assert.deepStrictEqual([usage.fixes, runs, usage.retries], [4, 4, 3])
    }).pipe(Effect.provide(ScriptedModel.layer([call("count", { n: "x" }), text("done")]))))
})

describe("a denied call", () => {
  const denied = (recovery: Effect.Effect<void>) => {
    const { tool } = counted("ok")
    return Agent.make("a", {
      tools: [tool.pipe(Tool.onError((attempt) => Effect.catchCause(attempt, () => Effect.as(recovery, 1))))],
      policies: [Policy.make("closed", () => Policy.deny("closed"))]
    }).report("go").pipe(Effect.provide(ScriptedModel.layer([call("ok", {}), text("done")])))
  }

  it.effect("does not hide a defect of its recovery", () =>
    Effect.gen(function*() {
      const bug = new Error("bug")
      const { exit } = yield* denied(Effect.die(bug))
      assert.strictEqual(Exit.isFailure(exit) ? Cause.squash(exit.cause) : exit, bug)
      assert.deepStrictEqual((yield* denied(Effect.void)).exit, Exit.succeed("done"))
    }))

  it.effect("does not hide that its recovery was interrupted", () =>
    Effect.gen(function*() {
      assert.isTrue(Exit.hasInterrupts((yield* denied(Effect.interrupt)).exit))
    }))

  it.effect("does not hide that its recovery used up the budget", () =>
    Effect.gen(function*() {
      const { tool } = counted("ok")
      const inner = Agent.make("inner", { input: Schema.Struct({}) })
      const { exit, transcript } = yield* Agent.make("a", {
        tools: [tool.pipe(Tool.onError((attempt) => Effect.catchCause(attempt, () => Effect.as(inner.run({}), 1))))],
        policies: [Policy.make("closed", () => Policy.deny("closed"))],
        budget: { turns: 1 }
      }).report("go")
      assert.instanceOf(Exit.isFailure(exit) ? Cause.squash(exit.cause) : exit, Budget.BudgetExceeded)
      assert.notInclude(JSON.stringify(transcript), "permission_denied")
    }).pipe(Effect.provide(ScriptedModel.layer([call("ok", {}), text("inner"), text("done")]))))
})

it.effect("the audit's hash is of the arguments, not of their text", () =>
  Effect.gen(function*() {
    const hashes: Array<string> = []
    const Act = Tool.make("act", {
      parameters: Schema.Struct({ a: Schema.Int, b: Schema.Int }),
      execute: () => Effect.void
    })
    yield* Agent.make("a", { tools: [Act], policies: [Policy.make("closed", () => Policy.deny("closed"))] }).run("go")
      .pipe(
        Effect.provide(Audit.layer(({ argumentsHash }) => Effect.sync(() => hashes.push(argumentsHash))))
      )
    assert.strictEqual(hashes.length, 3)
    assert.strictEqual(new Set(hashes).size, 1)
  }).pipe(Effect.provide(ScriptedModel.layer([
    calls([
      { name: "act", params: { a: 1, b: 2 }, id: "1" },
      { name: "act", params: { b: 2, a: 1 }, id: "2" },
      { name: "act", params: `{ "b": 2, "a": 1 }`, id: "3" }
    ]),
    text("done")
  ]))))

/** Errors of set-up: a sentence with the fault and the advice. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, Approval, ConfigurationError, Recovery, Tool, ToolCall } from "@recourse/core"
import { ScriptedModel } from "@recourse/testing"
import { Cause, Effect, Exit, Schema } from "effect"

const { ConfigurationError: Wrong } = ConfigurationError

const call = (args: unknown) => Effect.provideService(ToolCall.ToolCall, ToolCall.make({ id: "c1", arguments: args }))

const lookUp = Tool.make("look_up", {
  parameters: Schema.Struct({ id: Schema.Number }),
  success: Schema.Number,
  effects: "read",
  execute: ({ id }) => Effect.succeed(id > 1 ? "much" as never : id)
})

describe("a spoken sentence", () => {
  for (
    const [shown, answer] of [["undefined: is it declared below this line?", undefined], ["a value of type number", 1]]
  ) {
    it(`for a fallback that is ${typeof answer}, at its definition`, () => {
      const untyped = Recovery.fallback as (tag: string, answer: unknown) => unknown
      assert.throws(
        () => untyped("Timeout", answer),
        Wrong,
        `Recovery.fallback of Timeout: a fallback is an Effect, or a function that answers one, and this is ${shown}`
      )
    })
  }

  it("for a limit of results that shows no text", () => {
    const says = "Agent \"desk\": resultLimit must be more than 0"
    for (const resultLimit of [0, -1, NaN]) {
      assert.throws(() => Agent.make("desk", { tools: [lookUp], resultLimit }), Wrong, says)
      assert.throws(() => Agent.forCalls("desk", { tools: [lookUp], resultLimit }), Wrong, says)
    }
    for (const resultLimit of [0.5, 1, Infinity, undefined]) Agent.make("desk", { tools: [lookUp], resultLimit })
  })

  it.effect("of an id of a run that is empty", () =>
    Effect.gen(function*() {
      const exit = yield* Effect.exit(Agent.fromFunction("desk", Effect.succeed<string>).run("x", { runId: "" }))
      const [reason] = Exit.isFailure(exit) ? exit.cause.reasons : []
      assert.deepInclude(reason !== undefined && Cause.isDieReason(reason) && reason.defect, {
        subject: "Agent \"desk\"",
        problem: "a run id is not empty"
      })
    }))

  it("prints a sentence for a recovery of a missing tool", () => {
    const untyped = Agent.make as (name: string, options: object) => unknown
    assert.throws(
      () => untyped("desk", { tools: [lookUp], onToolError: { lookup: Recovery.standard } }),
      Wrong,
      "Agent \"desk\": onToolError names \"lookup\", which is none of its tools"
    )
  })

  it("for a table with a set prototype, visible only to the compiler", () => {
    const named = Tool.make("__proto__", { execute: () => Effect.void })
    const says = "write the name in brackets, [\"__proto__\"]"
    assert.throws(() => Agent.make("a", { tools: [named], onToolError: { __proto__: Recovery.standard } }), Wrong, says)
    const untyped = Recovery.catchReasons as (call: Effect.Effect<never, unknown>, cases: object) => unknown
    assert.throws(() => untyped(Effect.fail("down"), { __proto__: () => Effect.void }), Wrong, says)
  })

  it.effect("of no tool whose name is in brackets: its recovery is used", () =>
    Effect.gen(function*() {
      const named = Tool.make("__proto__", { effects: "read", execute: () => Effect.fail("down") })
      const agent = Agent.make("a", { tools: [named], onToolError: { ["__proto__"]: Recovery.keepGoing } })
      const script = [ScriptedModel.call("__proto__", {}), ScriptedModel.text("done")]
      assert.strictEqual(yield* agent.run("go").pipe(Effect.provide(ScriptedModel.layer(script))), "done")
    }))

  it.effect("for a result and for arguments in their own words", () =>
    Effect.gen(function*() {
      const result = yield* Effect.flip(lookUp.call.pipe(call({ id: 2 })))
      assert.include(result.message, "Invalid result of tool \"look_up\" (call c1, attempt 1): result: expected number")
      const args = yield* Effect.flip(lookUp.call.pipe(call({ id: "1" })))
      assert.include(args.message, "Invalid arguments for tool \"look_up\" (call c1, attempt 1): id: expected number")
    }))

  it("prints a sentence for each reason of a refused snapshot", () => {
    for (const reason of Approval.SnapshotRefused.fields.reason.literals) {
      const { message } = new Approval.SnapshotRefused({ agent: "desk", reason })
      assert.match(message, /^The snapshot cannot be resumed by agent "desk": .{10,}\. (Resume|Use|Find out)/, reason)
    }
  })
})

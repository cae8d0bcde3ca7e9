/** Errors of a program may have the tags of the library's: their class decides, not their tags. */
import { Drive, ScriptedModel } from "@recourse/testing"
import { assert, it } from "@effect/vitest"
import { Data, Effect, Schema } from "effect"
import { collect } from "../support/kit.ts"
import { Agent, Approval, ErrorProjection, Recovery, Tool } from "@recourse/core"

class Escalation extends Data.TaggedError("Escalation") {}
class InvalidArgs extends Data.TaggedError("InvalidArgs") {}
class Down extends Data.TaggedError("Down") {}
class ExecutionError extends Data.TaggedError("ExecutionError")<{ readonly reason: Down }> {}

const make = <E>(error: E) =>
  Tool.make("t", { success: Schema.String, effects: "read", execute: () => Effect.succeed("") }).pipe(
    Tool.onError(() => Effect.fail(error))
  )

const run = <E, R>(agent: Agent.Agent<string, string, E, R>) =>
  Effect.gen(function*() {
    const ended: unknown = yield* Effect.match(Drive.drive(agent.run("go")), {
      onFailure: (error: unknown) => error,
      onSuccess: (answer: unknown) => answer
    })
    const { requests } = yield* ScriptedModel.ScriptedModel
    return [ended, (yield* requests).length] as const
  }).pipe(Effect.provide(ScriptedModel.layer([ScriptedModel.call("t", {}), ScriptedModel.text("done")])))

it.effect("a program's own escalation ends the run without another model call", () =>
  Effect.gen(function*() {
    const error = new Escalation()
    assert.deepStrictEqual(yield* run(Agent.make("a", { tools: [make(error)] })), [error, 1])
  }))

it.effect("a fixer is not asked about arguments that the program calls invalid", () =>
  Effect.gen(function*() {
    const error = new InvalidArgs()
    let asked = 0
    const fixer = Agent.fromFunction("fixer", (_: Recovery.FixRequest) => Effect.sync(() => `${++asked}`))
    const agent = Agent.make("a", {
      tools: [make(error)],
      onToolError: { t: (call) => call.pipe(Recovery.fix("InvalidArgs", fixer)) }
    })
    assert.deepStrictEqual(yield* run(agent), [error, 1])
    assert.strictEqual(asked, 0)
  }))

it.effect("a program's own execution error is not handled as an executor's", () =>
  Effect.gen(function*() {
    const error = new ExecutionError({ reason: new Down() })
    let fails: "as the executor" | "as the program" = "as the executor"
    const tool = Tool.make("t", { success: Schema.String, effects: "read", execute: () => Effect.fail(new Down()) })
    const recovered = tool.pipe(
      Tool.onError((call) =>
        Effect.suspend((): typeof call => fails === "as the executor" ? call : Effect.fail(error as never)).pipe(
          Recovery.catchReason("Down", () => Effect.succeed("handled"))
        )
      )
    )
    const agent = Agent.make("a", { tools: [recovered] })
    assert.deepStrictEqual(yield* run(agent), ["done", 2])
    fails = "as the program"
    assert.deepStrictEqual(yield* run(agent), [error, 1])
  }))

it.effect("texts of a program's error do not follow from its tag", () =>
  Effect.gen(function*() {
    const agent = Agent.make("a", {
      tools: [make(new InvalidArgs())],
      onToolError: { t: Recovery.escalate("InvalidArgs") }
    })
    assert.deepStrictEqual(yield* run(agent), ["done", 2])
  }))

it("a waiting run's text does not apply to an error with its tag", () => {
  class ApprovalRequired extends Data.TaggedError("ApprovalRequired") {}
  const code = (error: unknown) => ErrorProjection.toolFailure(error, "r").code
  assert.strictEqual(code(Object.create(Approval.ApprovalRequired.prototype)), "approval_required")
  assert.strictEqual(code(new ApprovalRequired()), "execution_error")
})

it.effect.each<readonly [error: unknown, tag: string | undefined]>([
  [null, undefined],
  [undefined, undefined],
  [7, undefined],
  ["down", undefined],
  [{ _tag: 7 }, undefined],
  [{ _tag: "Gone" }, "Gone"]
])("an executor may fail with anything: %j", ([error, tag]) =>
  Effect.gen(function*() {
    const { events, layer } = collect()
    const Odd = Tool.make("t", { effects: "read", execute: () => Effect.fail(error) })
    const answer = yield* Agent.make("a", { tools: [Odd], defaults: { onError: Recovery.keepGoing } }).run("go").pipe(
      Effect.provide([layer, ScriptedModel.layer([ScriptedModel.call("t", {}), ScriptedModel.text("done")])])
    )
    assert.strictEqual(answer, "done")
    const failed = events.find((event) => event._tag === "ToolAttemptFailed")
    assert.deepStrictEqual([failed?.error, failed?.reason], ["ExecutionError", tag])
  }))

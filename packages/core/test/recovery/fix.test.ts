/** Fixers of arguments: repetitions, ends, escalations and limits. */

import { ScriptedModel } from "@recourse/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Schema } from "effect"
import type { LanguageModel } from "effect/ai"
import { Agent, type AgentError, Recovery, Tool, type ToolError } from "@recourse/core"
import { by, collect, lastResults } from "../support/kit.ts"

describe("fix", () => {
  const Count = Tool.make("count", {
    parameters: Schema.Struct({ json: Schema.Struct({ n: Schema.Int }) }),
    success: Schema.Int,
    effects: "read",
    execute: ({ json }) => Effect.succeed(json.n)
  })

  it.effect("a deterministic fixer without a model repeats until its arguments fit", () =>
    Effect.gen(function*() {
      const requests: Array<Recovery.FixRequest> = []
      const answers = ["{\"json\":1}", "{\"json\":{\"n\":3}}"]
      const fixer = Agent.fromFunction("fixer", (request: Recovery.FixRequest<ToolError.InvalidArgs>) => {
        requests.push(request)
        return Effect.succeed(answers[request.fix - 1]!)
      })
      const agent = Agent.make("a", {
        tools: [Count.pipe(Tool.onError(Recovery.fix("InvalidArgs", fixer, { times: 2 })))]
      })
      const { events, layer } = collect()
      const report = yield* Effect.provide(
        Effect.provide(agent.report("x"), layer),
        ScriptedModel.layer([ScriptedModel.call("count", "nonsense"), ScriptedModel.text("3")])
      )
      assert.isTrue(Exit.isSuccess(report.exit))
      assert.strictEqual(report.usage.turns, 2)
      assert.strictEqual(report.usage.fixes, 2)
      assert.strictEqual(report.usage.retries, 0)
      assert.deepStrictEqual(requests.map((request) => request.arguments), ["nonsense", "{\"json\":1}"])
      assert.deepStrictEqual(requests[1]?.issues.map((issue) => issue.path.join(".")), ["json"])
      assert.deepStrictEqual(report.executed, [{
        tool: "count",
        callId: "call_1",
        attempt: 3,
        arguments: "{\"json\":{\"n\":3}}",
        fixedBy: "fixer",
        outcome: "success"
      }])
      assert.strictEqual(events.filter((event) => event._tag === "FixFinished").length, 2)
      const result = report.transcript.content.find((message) => message.role === "tool")
      assert.deepStrictEqual((result?.content[0] as { options: unknown }).options, {
        recourse: { repaired: { arguments: "{\"json\":{\"n\":3}}", by: "fixer" } }
      })
    }))

  it.effect("gives up after `times` with all attempts listed", () =>
    Effect.gen(function*() {
      let asked = 0
      const fixer = Agent.fromFunction("fixer", () => Effect.sync(() => `{"again":${++asked}}`))
      const error = yield* Effect.flip(
        Count.pipe(Tool.onError(Recovery.fix("InvalidArgs", fixer, { times: 3 }))).call.pipe(by("x"))
      )
      assert.strictEqual(error._tag, "InvalidArgs")
      assert.strictEqual(asked, 3)
      if (error._tag === "InvalidArgs") assert.strictEqual(error.causes.length, 4)
    }))

  it.effect("a fixer that declines lets the failure pass", () =>
    Effect.gen(function*() {
      const fixer = Agent.fromFunction("fixer", () => Effect.succeed(Recovery.declined))
      const error = yield* Effect.flip(
        Count.pipe(Tool.onError(Recovery.fix("InvalidArgs", fixer, { times: 3 }))).call.pipe(by("x"))
      )
      assert.strictEqual(error._tag, "InvalidArgs")
      assert.strictEqual(error.attempt, 1)
    }))

  it.effect("a fixer that escalates gives reason and severity as a failed result", () =>
    Effect.gen(function*() {
      const fixer = Agent.make("fixer", { instructions: "Fix", tools: [Tool.escalate] })
      const agent = Agent.make("a", { tools: [Count.pipe(Tool.onError(Recovery.fix("InvalidArgs", fixer)))] })
      const { events, layer } = collect()
      const result = yield* Effect.gen(function*() {
        yield* agent.run("x")
        const script = yield* ScriptedModel.ScriptedModel
        yield* script.assertComplete
        return lastResults((yield* script.lastRequest).prompt)[0]
      }).pipe(
        Effect.provide(layer),
        Effect.provide(ScriptedModel.layer([
          ScriptedModel.call("count", "nonsense"),
          ScriptedModel.call("escalate", { reason: "use {\"n\":3}", severity: "high" }),
          ScriptedModel.text("ok")
        ]))
      )
      const failure = result?.result as Record<string, unknown>
      assert.isTrue(result?.isFailure)
      assert.strictEqual(failure["message_for_model"], "use {\"n\":3}")
      assert.strictEqual(failure["severity"], "high")
      const seen = events.find((event) => event._tag === "ToolResult" && event.tool === "count")
      assert.isTrue(seen?._tag === "ToolResult" && seen.isFailure)
    }))

  it.effect("a fixer's throwException ends the run, regardless of remaining fixes", () =>
    Effect.gen(function*() {
      const fixer = Agent.make("fixer", { tools: [Tool.throwException] })
      const agent = Agent.make("a", {
        tools: [
          Count.pipe(
            Tool.onError((call) =>
              call.pipe(Recovery.fix("InvalidArgs", fixer, { times: 5 }), Effect.retry({ times: 5 }))
            )
          )
        ]
      })
      const [error, requests] = yield* Effect.gen(function*() {
        const error = yield* Effect.flip(agent.run("x"))
        return [error, yield* (yield* ScriptedModel.ScriptedModel).requests] as const
      }).pipe(Effect.provide(ScriptedModel.layer([
        ScriptedModel.call("count", "nonsense"),
        ScriptedModel.call("throwException", { reason: "attack" }),
        ScriptedModel.text("never")
      ])))
      assert.strictEqual(error._tag, "AgentException")
      assert.strictEqual(requests.length, 2)
    }))

  it.effect("a looping fixer stops at its steps, and the failure passes", () =>
    Effect.gen(function*() {
      const inner:
        & Agent.Agent<string, string, AgentError.AgentError | ToolError.InvalidResult, LanguageModel.LanguageModel>
        & {
          readonly takesText: true
        } = Agent.make("fixer", {
          tools: [
            Tool.make("look", {
              parameters: Schema.Struct({ at: Schema.String }),
              effects: "read",
              execute: () => Effect.void
            }).pipe(Tool.onError((call) =>
              call.pipe(
                Recovery.fix("InvalidArgs", Agent.fromFunction("again", () => inner.run("again"))),
                Effect.catch(() => Effect.void)
              )
            ))
          ]
        })
      const agent = Agent.make("a", {
        tools: [
          Count.pipe(Tool.onError((call) =>
            call.pipe(
              Recovery.fix("InvalidArgs", inner, { steps: 4 }),
              Effect.catchTag("InvalidArgs", () => Effect.succeed(0))
            )
          ))
        ]
      })
      const circle = Array.from({ length: 4 }, () => ScriptedModel.call("look", {}))
      const exit = yield* Effect.exit(agent.run("x")).pipe(
        Effect.provide(
          ScriptedModel.layer([ScriptedModel.call("count", "nonsense"), ...circle, ScriptedModel.text("0")])
        )
      )
      assert.deepStrictEqual(exit, Exit.succeed("0"))
    }))

  it.effect("the built-in tools are invisible unless listed", () =>
    Effect.gen(function*() {
      const agent = Agent.make("a", { tools: [Count] })
      const tools = yield* Effect.gen(function*() {
        yield* agent.run("x")
        return (yield* (yield* ScriptedModel.ScriptedModel).lastRequest).tools
      }).pipe(Effect.provide(ScriptedModel.layer([ScriptedModel.text("ok")])))
      assert.deepStrictEqual(tools, ["count"])
      const called = yield* Effect.gen(function*() {
        yield* agent.run("x")
        return lastResults((yield* (yield* ScriptedModel.ScriptedModel).lastRequest).prompt)[0]?.result
      }).pipe(
        Effect.provide(ScriptedModel.layer([ScriptedModel.call("escalate", { reason: "x" }), ScriptedModel.text("ok")]))
      )
      assert.strictEqual((called as { code: string }).code, "tool_not_found")
    }))
})

/** Lawful recovery: no executed write runs again. */

import { Drive, ScriptedModel } from "@recourse/testing"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Duration, Effect, Schedule, Schema } from "effect"
import { Agent, ErrorProjection, Recovery, Tool } from "@recourse/core"
import { by, flaky, lastResults } from "../support/kit.ts"

describe("lawfulness", () => {
  const write = () => flaky(9, "write")

  it.effect("retry, fix and Effect.retry never rerun an executed write", () =>
    Effect.gen(function*() {
      const fixer = Agent.fromFunction("f", () => Effect.succeed("{\"n\":1}"))
      const ways = [
        (tool: ReturnType<typeof write>["tool"]) =>
          tool.pipe(Tool.onError(Recovery.retry({ times: 3, schedule: Schedule.forever }))),
        (tool: ReturnType<typeof write>["tool"]) => tool.pipe(Tool.onError((call) => Effect.retry(call, { times: 3 }))),
        (tool: ReturnType<typeof write>["tool"]) =>
          tool.pipe(Tool.onError(Recovery.fix("ExecutionError", fixer, { times: 3 })))
      ]
      for (const recovered of ways) {
        const { state, tool } = write()
        const error = yield* Effect.flip(recovered(tool).call.pipe(by({ n: 1 })))
        assert.strictEqual(error._tag, "OutcomeUnknown")
        if (error._tag === "OutcomeUnknown") assert.strictEqual(error.attempt, 1)
        assert.strictEqual(state.runs, 1)
      }
    }))

  it.effect("a write with unfit arguments is unexecuted: may be fixed and run", () =>
    Effect.gen(function*() {
      const { state, tool } = flaky(0, "write")
      const fixed = tool.pipe(
        Tool.onError(Recovery.fix("InvalidArgs", Agent.fromFunction("f", () => Effect.succeed("{\"n\":4}"))))
      )
      assert.strictEqual(yield* fixed.call.pipe(by("{n:4}")), 4)
      assert.strictEqual(state.runs, 1)
    }))

  it.effect("the timeout of a write is an unknown outcome for the model", () =>
    Effect.gen(function*() {
      let runs = 0
      const tool = Tool.make("pay", {
        effects: "write",
        timeout: "1 second",
        execute: () => Effect.andThen(Effect.sync(() => runs++), Effect.never)
      })
      const agent = Agent.make("a", { tools: [tool], defaults: { onError: Recovery.standard } })
      const program = Effect.gen(function*() {
        yield* agent.run("pay")
        const { prompt } = yield* (yield* ScriptedModel.ScriptedModel).lastRequest
        return lastResults(prompt)[0]?.result as { readonly code: string; readonly safe_to_retry: boolean }
      })
      const result = yield* Drive.drive(
        program.pipe(Effect.provide(ScriptedModel.layer([ScriptedModel.call("pay", {}), ScriptedModel.text("ok")])))
      )
      assert.strictEqual(result.code, "outcome_unknown")
      assert.isFalse(result.safe_to_retry)
      assert.strictEqual(runs, 1)
    }))

  it.effect("a retry waits as declared, and not at all beyond the limit", () =>
    Effect.gen(function*() {
      class Busy extends Schema.TaggedError<Busy>()(
        "Busy",
        { seconds: Schema.Number },
        ErrorProjection.declare<{ readonly seconds: number }>({
          code: "rate_limited",
          retryAfter: ({ seconds }) => Duration.seconds(seconds)
        })
      ) {}
      const asked = (seconds: number, maxRetryAfter?: Duration.Input) => {
        const at: Array<number> = []
        const tool = Tool.make("busy", {
          effects: "read",
          failure: Busy,
          execute: () =>
            Effect.flatMap(Clock.currentTimeMillis, (now) => {
              at.push(now)
              return Effect.fail(new Busy({ seconds }))
            })
        }).pipe(
          Tool.onError(Recovery.retry({ times: 2, schedule: Schedule.exponential("4 seconds"), maxRetryAfter }))
        )
        const failed = Effect.flip(Drive.drive(tool.call.pipe(by({})), { step: "1 second" }))
        return Effect.as(failed, at).pipe(Effect.map((at) => at.map((time) => time - at[0]!)))
      }
      // The schedule says 4 and 8 seconds.
      assert.deepStrictEqual(yield* asked(5), [0, 5_000, 13_000])
      assert.deepStrictEqual(yield* asked(60), [0, 60_000, 120_000])
      assert.deepStrictEqual(yield* asked(61), [0])
      assert.deepStrictEqual(yield* asked(61, "2 minutes"), [0, 61_000, 122_000])
    }))

  it.effect("after a timeout the model may repeat only a repeatable tool", () =>
    Effect.gen(function*() {
      const told = (effects: Tool.Effects | undefined) => {
        const tool = Tool.make("slow", { effects, timeout: "1 second", execute: () => Effect.never })
        const agent = Agent.make("a", { tools: [tool.pipe(Tool.onError(Recovery.escalate("Timeout")))] })
        return Drive.drive(
          Effect.andThen(agent.run("go"), ScriptedModel.ScriptedModel).pipe(
            Effect.flatMap((script) => script.lastRequest),
            Effect.map(({ prompt }) => lastResults(prompt)[0]?.result),
            Effect.provide(ScriptedModel.layer([ScriptedModel.call("slow", {}), ScriptedModel.text("ok")]))
          )
        )
      }
      for (const [effects, safe] of [["read", true], ["idempotent", true], [undefined, false]] as const) {
        const result = yield* told(effects) as Effect.Effect<ErrorProjection.ToolFailure>
        assert.deepStrictEqual([result.code, result.safe_to_retry], ["timeout", safe])
      }
    }))

  it.effect("a tool with undeclared effects is repeated by its own recovery only", () =>
    Effect.gen(function*() {
      const script = () => ScriptedModel.layer([ScriptedModel.call("flaky", { n: 1 }), ScriptedModel.text("ok")])
      const own = flaky(2, undefined)
      const first = Agent.make("a", {
        tools: [own.tool.pipe(Tool.onError(Recovery.retry({ times: 2, schedule: Schedule.forever })))]
      })
      yield* Effect.provide(first.run("x"), script())
      assert.strictEqual(own.state.runs, 3)

      const agents = flaky(2, undefined)
      const second = Agent.make("a", {
        tools: [agents.tool],
        onToolError: { flaky: (call) => Effect.retry(call, { times: 2 }) }
      })
      const error = yield* Effect.flip(Effect.provide(second.run("x"), script()))
      assert.strictEqual(error._tag, "ExecutionError")
      assert.strictEqual(agents.state.runs, 1)

      const policy = Recovery.policy({
        ExecutionError: { retry: { times: 2, schedule: Schedule.forever }, otherwise: "escalate" }
      })
      const defaults = flaky(2, undefined)
      const third = Agent.make("a", { tools: [defaults.tool], defaults: { onError: policy } })
      yield* Effect.provide(third.run("x"), script())
      assert.strictEqual(defaults.state.runs, 1)
    }))
})

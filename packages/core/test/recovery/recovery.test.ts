import { Drive, ScriptedModel } from "@recourse/testing"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Clock, Effect, Exit, Fiber, Schedule, Schema, SchemaGetter } from "effect"
import { TestClock } from "effect/testing"
import type { LanguageModel } from "effect/ai"
import { Agent, Recovery, Tool, ToolCall, type ToolError } from "@recourse/core"
import { by, collect, Down, flaky, Gone, lastResults } from "../support/kit.ts"

describe("attempts", () => {
  it.effect("without recovery the executor's error is the call's own value", () =>
    Effect.gen(function*() {
      const reason = new Down()
      const tool = Tool.make("t", { execute: () => Effect.fail(reason) })
      const error = yield* Effect.flip(tool.call.pipe(by({})))
      assert.strictEqual(error._tag, "ExecutionError")
      assert.strictEqual((error as ToolError.ExecutionError<Down>).reason, reason)
      assert.strictEqual(error.attempt, 1)
    }))

  it.effect("Effect.retry stops at three attempts, with all three causes", () =>
    Effect.gen(function*() {
      const { state, tool } = flaky(9, "read")
      const at: Array<number> = []
      const retried = tool.pipe(
        Tool.onError((call) =>
          Effect.andThen(Effect.map(Clock.currentTimeMillis, (now) => at.push(now)), call).pipe(
            Effect.retry({ times: 2, schedule: Schedule.exponential("100 millis") })
          )
        )
      )
      const error = yield* Effect.flip(Drive.drive(retried.call.pipe(by({ n: 1 })), { step: "1 millis" }))
      assert.strictEqual(state.runs, 3)
      assert.deepStrictEqual(at, [0, 100, 300])
      assert.strictEqual(error._tag, "ExecutionError")
      if (error._tag !== "ExecutionError") return
      assert.deepStrictEqual(error.causes.map((cause) => [cause.attempt, cause.error]), [
        [1, "ExecutionError"],
        [2, "ExecutionError"],
        [3, "ExecutionError"]
      ])
      assert.isTrue(error.causes.every((cause) => cause.reason instanceof Down))
    }))

  it.effect("a timeout interrupts the executor and names how long it waited", () =>
    Effect.gen(function*() {
      let interrupted = 0
      const tool = Tool.make("slow", {
        effects: "read",
        timeout: "5 seconds",
        execute: () => Effect.onInterrupt(Effect.never, () => Effect.sync(() => interrupted++))
      })
      const error = yield* Effect.flip(Drive.drive(tool.call.pipe(by({})), { step: "1 second" }))
      assert.strictEqual(error._tag, "Timeout")
      assert.strictEqual(interrupted, 1)
    }))

  it.effect("the executor sees the number of its attempt", () =>
    Effect.gen(function*() {
      const seen: Array<number> = []
      const tool = Tool.make("t", {
        effects: "read",
        execute: () =>
          Effect.flatMap(ToolCall.ToolCall, (call) => {
            seen.push(call.attempt)
            return Effect.fail(new Down())
          })
      }).pipe(Tool.onError(Recovery.retry({ times: 2, schedule: Schedule.forever })))
      yield* Effect.exit(tool.call.pipe(by({})))
      assert.deepStrictEqual(seen, [1, 2, 3])
    }))
})

describe("arguments", () => {
  const tool = Tool.make("add", {
    parameters: Schema.Struct({ a: Schema.Number, who: Schema.Struct({ name: Schema.String }) }),
    success: Schema.Number,
    execute: ({ a }) => Effect.succeed(a)
  })
  const issuesOf = (args: unknown) =>
    Effect.map(Effect.flip(tool.call.pipe(by(args))), (error) => {
      assert.strictEqual(error._tag, "InvalidArgs")
      return (error as ToolError.InvalidArgs).issues
    })

  for (
    const [name, text, expected] of [
      [
        "cut off",
        "{\"a\": 1, \"who\": {\"name\": \"A",
        "expected one complete JSON object: the text is cut off (line 1, column 28)"
      ],
      ["two objects", "{\"a\": 1}{\"a\": 2}", "expected one JSON object: a second one begins here (line 1, column 9)"],
      ["an array", "[1]", "expected one JSON object, from { to }, without other text (line 1, column 1)"],
      ["a number", "7", "expected one JSON object, from { to }, without other text (line 1, column 1)"],
      ["empty", "", "expected one JSON object: the text is empty"],
      ["not JSON", "{a: 1}", "expected a key in double quotes (line 1, column 2)"]
    ] as const
  ) {
    it.effect(`that are ${name} are refused, never repaired`, () =>
      Effect.gen(function*() {
        assert.deepStrictEqual(yield* issuesOf(text), [{ path: [], expected, problem: "syntax" }])
      }))
  }

  it.effect("that do not fit are named by path and expectation only", () =>
    Effect.gen(function*() {
      const issues = yield* issuesOf({ a: "hunter2", who: {} })
      assert.deepStrictEqual(issues.map((issue) => [issue.path.join("."), issue.problem]), [
        ["a", "invalid"],
        ["who.name", "missing"]
      ])
      assert.notInclude(JSON.stringify(issues), "hunter2")
    }))

  it.effect("with an effectful schema are decoded once, with all issues", () =>
    Effect.gen(function*() {
      let asked = 0
      const Known = Schema.String.pipe(Schema.decode({
        decode: SchemaGetter.checkEffect((name: string) => Effect.as(Effect.sync(() => asked++), name === "ada")),
        encode: SchemaGetter.passthrough()
      }))
      const Greet = Tool.make("greet", {
        parameters: Schema.Struct({ name: Known, times: Schema.Number }),
        success: Schema.String,
        effects: "read",
        execute: ({ name, times }) => Effect.succeed(name.repeat(times))
      })
      assert.strictEqual(yield* Greet.call.pipe(by({ name: "ada", times: 2 })), "adaada")
      assert.strictEqual(asked, 1)
      const error = yield* Effect.flip(Greet.call.pipe(by({ name: "bob", times: "2" })))
      assert.strictEqual(asked, 2)
      assert.deepStrictEqual((error as ToolError.InvalidArgs).issues.map(({ path }) => path), [["name"], ["times"]])
    }))

  it.effect("a check's message that quotes the value is not passed on", () =>
    Effect.gen(function*() {
      const strict = Tool.make("t", {
        parameters: Schema.Struct({
          key: Schema.String.check(
            Schema.makeFilter((value: string) => value.length > 99 ? undefined : `"${value}" is short`)
          )
        }),
        execute: () => Effect.void
      })
      const error = yield* Effect.flip(strict.call.pipe(by({ key: "hunter2" })))
      assert.notInclude(JSON.stringify(error) + error.message, "hunter2")
    }))
})

describe("results", () => {
  it.effect("are checked behind recovery: a write with a bad result runs once", () =>
    Effect.gen(function*() {
      let runs = 0
      const tool = Tool.make("write", {
        success: Schema.Int,
        effects: "read",
        execute: () => Effect.sync(() => ++runs + 0.5)
      }).pipe(Tool.onError((call) => Effect.retry(call, { times: 5 })))
      const error = yield* Effect.flip(tool.call.pipe(by({})))
      assert.strictEqual(error._tag, "InvalidResult")
      assert.strictEqual(runs, 1)
    }))

  it.effect("of fixers and fallbacks are checked too", () =>
    Effect.gen(function*() {
      const tool = Tool.make("t", { success: Schema.Int, effects: "read", execute: () => Effect.fail(new Down()) })
      const fixer = Agent.fromFunction("half", () => Effect.succeed(Recovery.fixResult(0.5)))
      const fixed = tool.pipe(Tool.onError(Recovery.fix("ExecutionError", fixer)))
      assert.strictEqual((yield* Effect.flip(fixed.call.pipe(by({}))))._tag, "InvalidResult")
      const fallen = tool.pipe(Tool.onError(Recovery.fallback("ExecutionError", Effect.succeed(0.5))))
      assert.strictEqual((yield* Effect.flip(fallen.call.pipe(by({}))))._tag, "InvalidResult")
    }))
})

describe("precedence", () => {
  const answer = (n: number) => Recovery.fallback("ExecutionError", Effect.succeed(n))
  const escalate = Recovery.policy({ ExecutionError: "escalate" })
  const tool = () => flaky(9, "read").tool
  const played = <E>(agent: Agent.Agent<string, string, E, LanguageModel.LanguageModel>) =>
    Effect.gen(function*() {
      yield* agent.run("x")
      const request = yield* (yield* ScriptedModel.ScriptedModel).lastRequest
      return lastResults(request.prompt)[0]
    }).pipe(Effect.provide(ScriptedModel.layer([ScriptedModel.call("flaky", { n: 7 }), ScriptedModel.text("ok")])))

  it.effect("is the tool's, then the agent's, then the defaults", () =>
    Effect.gen(function*() {
      const all = Agent.make("a", {
        tools: [tool().pipe(Tool.onError(answer(1)))],
        onToolError: { flaky: (call) => Effect.catch(call, () => Effect.succeed(2)) },
        defaults: { onError: escalate }
      })
      assert.strictEqual((yield* played(all))?.result, 1)
      const two = Agent.make("a", {
        tools: [tool()],
        onToolError: { flaky: answer(2) },
        defaults: { onError: escalate }
      })
      assert.strictEqual((yield* played(two))?.result, 2)
      const one = Agent.make("a", { tools: [tool()], defaults: { onError: escalate } })
      assert.isTrue((yield* played(one))?.isFailure)
    }))

  it.effect("is decided per tag: errors left by the tool's recovery fall through", () =>
    Effect.gen(function*() {
      const tool = Tool.make("t", {
        parameters: Schema.Struct({ kind: Schema.String }),
        success: Schema.String,
        effects: "read",
        timeout: "1 second",
        execute: ({ kind }): Effect.Effect<string, Gone> =>
          kind === "hang" ? Effect.never : Effect.fail(new Gone({ id: kind }))
      }).pipe(Tool.onError(Recovery.fallback("ExecutionError", Effect.succeed("own"))))
      const agent = Agent.make("a", {
        tools: [tool],
        onToolError: { t: Recovery.fallback("Timeout", Effect.succeed("agent")) },
        defaults: { onError: Recovery.standard }
      })
      const results = yield* Drive.drive(
        Effect.gen(function*() {
          yield* agent.run("x")
          return lastResults((yield* (yield* ScriptedModel.ScriptedModel).lastRequest).prompt)
        }).pipe(Effect.provide(ScriptedModel.layer([
          ScriptedModel.calls([
            { name: "t", params: { kind: "gone" } },
            { name: "t", params: { kind: "hang" } },
            { name: "t", params: {} }
          ]),
          ScriptedModel.text("ok")
        ])))
      )
      assert.deepStrictEqual(results.slice(0, 2).map((result) => result.result), ["own", "agent"])
      assert.strictEqual((results[2]?.result as { code: string }).code, "missing_required_field")
    }))
})

describe("control signals", () => {
  it.effect("defects and interruption are not seen by retry, catchTag, fix and onToolError", () =>
    Effect.gen(function*() {
      let runs = 0
      let seen = 0
      const broken = Tool.make("broken", {
        effects: "read",
        execute: () => Effect.suspend(() => ++runs > 0 ? Effect.die("boom") : Effect.fail(new Down()))
      }).pipe(Tool.onError((call) =>
        call.pipe(
          Effect.retry({ times: 3 }),
          Effect.catchTag("ExecutionError", () => Effect.sync(() => void seen++))
        )
      ))
      const agent = Agent.make("a", {
        tools: [broken],
        onToolError: { broken: (call) => Effect.catch(call, () => Effect.sync(() => void seen++)) },
        defaults: { onError: Recovery.standard }
      })
      const exit = yield* Effect.exit(agent.run("x")).pipe(
        Effect.provide(ScriptedModel.layer([ScriptedModel.call("broken", {}), ScriptedModel.text("ok")]))
      )
      assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
      assert.deepStrictEqual([runs, seen], [1, 0])
    }))

  it.effect("interrupting a run interrupts its tools, with one result per call", () =>
    Effect.gen(function*() {
      let stopped = 0
      const done = Tool.make("done", { success: Schema.Int, execute: () => Effect.succeed(1) })
      const hang = Tool.make("hang", {
        execute: () => Effect.onInterrupt(Effect.never, () => Effect.sync(() => stopped++))
      })
      const agent = Agent.make("a", { tools: [done, hang] })
      const { events, layer } = collect()
      const fiber = yield* Effect.forkChild(
        agent.run("x").pipe(
          Effect.provide(layer),
          Effect.provide(ScriptedModel.layer([
            ScriptedModel.calls([{ name: "done", params: {} }, { name: "hang", params: {} }])
          ]))
        ),
        { startImmediately: true }
      )
      yield* TestClock.adjust("1 second")
      yield* Fiber.interrupt(fiber)
      assert.strictEqual(stopped, 1)
      const results = events.filter((event) => event._tag === "ToolResult")
      assert.deepStrictEqual(
        results.map((event) => event._tag === "ToolResult" ? [event.callId, event.code] : []),
        [["call_1", undefined], ["call_2", "outcome_unknown"]]
      )
      const last = events.at(-1)
      assert.isTrue(last?._tag === "RunFinished" && last.outcome === "interrupted")
    }))
})

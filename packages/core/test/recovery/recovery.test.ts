import { Drive, ScriptedModel } from "@recourse/testing"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Clock, Duration, Effect, Exit, Fiber, Schedule, Schema, SchemaGetter } from "effect"
import { TestClock } from "effect/testing"
import type { LanguageModel } from "effect/ai"
import { Agent, type AgentError, ErrorProjection, Recovery, Tool, ToolCall, type ToolError } from "@recourse/core"
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

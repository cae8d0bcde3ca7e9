/** Ends of fixes: events, counters and the call's result for each way. */
import { ScriptedModel } from "@recourse/testing"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Metric, Schema } from "effect"
import { Agent, Recovery, Telemetry, Tool, ToolError } from "@recourse/core"
import { by, collect, Down } from "../support/kit.ts"

const Count = Tool.make("count", {
  parameters: Schema.Struct({ n: Schema.Int }),
  success: Schema.Int,
  effects: "read",
  execute: ({ n }) => Effect.succeed(n)
})

type Answer = string | Recovery.FixResult<number> | Recovery.FixDeclined

const fixerOf = <E>(answer: Effect.Effect<Answer, E>) => Agent.fromFunction("fixer", (_: Recovery.FixRequest) => answer)

const escalated = new ToolError.Escalated({ agent: "fixer", reason: "ask Ada", severity: "high" })
const thrown = new ToolError.AgentException({ agent: "fixer", reason: "attack" })
const interrupted = Cause.interrupt(7)

/** Each way: the fixer's action, its events, and whether the call has a result for the model. */
const ways: ReadonlyArray<
  readonly [
    string,
    Effect.Effect<Answer, string | ToolError.Escalated | ToolError.AgentException>,
    Readonly<Record<string, string>>
  ]
> = [
  ["new arguments", Effect.succeed("Here: {\"n\":3}"), { answer: "arguments", arguments: "{\"n\":3}" }],
  ["arguments that are no JSON", Effect.succeed(" no "), { answer: "arguments", arguments: "no" }],
  ["a result", Effect.succeed(Recovery.fixResult(3)), { answer: "result" }],
  ["that it declines", Effect.succeed(Recovery.declined), { answer: "declined" }],
  ["an escalation", Effect.fail(escalated), { answer: "escalated" }],
  ["an exception", Effect.fail(thrown), { answer: "exception" }],
  ["a failure", Effect.fail("no"), { answer: "failed" }],
  ["a defect", Effect.die("no"), { answer: "failed" }],
  ["an interruption", Effect.failCause(interrupted), { answer: "interrupted" }],
  ["a failure and an interruption", Effect.failCause(Cause.combine(interrupted, Cause.fail("no"))), {
    answer: "failed"
  }],
  ["an interruption and an escalation", Effect.failCause(Cause.combine(interrupted, Cause.fail(escalated))), {
    answer: "escalated"
  }]
]

const common = new Set(["runId", "agentRunId", "path", "sequence", "at"])
const withoutCommon = (event: object) => Object.fromEntries(Object.entries(event).filter(([key]) => !common.has(key)))

describe("a fixer that answers", () => {
  it.effect.each(ways)("%s is told of when it begins and when it ends", ([_, answer, ended]) =>
    Effect.gen(function*() {
      const { events, layer } = collect()
      const agent = Agent.make("a", { tools: [Count.pipe(Tool.onError(Recovery.fix("InvalidArgs", fixerOf(answer))))] })
      yield* Effect.exit(Effect.provide(
        Effect.provide(agent.run("x"), layer),
        ScriptedModel.layer([ScriptedModel.call("count", "nonsense"), ScriptedModel.text("ok")])
      ))
      const call = { callId: "call_1", tool: "count", fixer: "fixer", fix: 1 }
      assert.deepStrictEqual(
        events.filter(({ _tag }) => _tag === "FixStarted" || _tag === "FixFinished").map(withoutCommon),
        [{ _tag: "FixStarted", ...call, error: "InvalidArgs" }, { _tag: "FixFinished", ...call, ...ended }]
      )
    }))
})

describe("a fixer that has failed", () => {
  const attempts = <E>(failure: Effect.Effect<never, E>) =>
    Effect.gen(function*() {
      const asked: Array<number> = []
      const fixer = fixerOf(Effect.suspend(() => {
        asked.push(asked.length + 1)
        return asked.length === 1 ? failure : Effect.succeed("{\"n\":3}")
      }))
      const tool = Count.pipe(
        Tool.onError((call) => Effect.retry(call.pipe(Recovery.fix("InvalidArgs", fixer)), { times: 1 }))
      )
      return [yield* Effect.exit(tool.call.pipe(by("nonsense"))), asked.length] as const
    })

  it.effect("is called again by a retrying level, except after an exception", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* attempts(Effect.fail("no")), [Exit.succeed(3), 2])
      assert.deepStrictEqual(yield* attempts(Effect.fail(thrown)), [Exit.fail(thrown), 1])
    }))

  it.effect("by an exception closes the call for other fixers, error unchanged", () =>
    Effect.gen(function*() {
      let asked = 0
      const other = Agent.fromFunction("other", (_: Recovery.FixRequest) => Effect.sync(() => `{"n":${++asked}}`))
      const tool = Count.pipe(Tool.onError((call) =>
        call.pipe(
          Recovery.fix("InvalidArgs", fixerOf(Effect.fail(thrown))),
          Effect.catchTag("AgentException", () => call),
          Recovery.fix("InvalidArgs", other)
        )
      ))
      const error = yield* Effect.flip(tool.call.pipe(by("nonsense")))
      assert.strictEqual((error as ToolError.InvalidArgs)._tag, "InvalidArgs")
      assert.strictEqual(asked, 0)
    }))
})

describe("an answer of a fixer", () => {
  it.effect("that is arguments in prose runs the call with the arguments", () =>
    Effect.gen(function*() {
      const tool = Count.pipe(Tool.onError(Recovery.fix("InvalidArgs", fixerOf(Effect.succeed("Here: {\"n\":3}")))))
      assert.strictEqual(yield* tool.call.pipe(by("nonsense")), 3)
    }))

  it.effect("that is missing lets the failure pass without another fixer call", () =>
    Effect.gen(function*() {
      const { events, layer } = collect()
      const look = Tool.make("look", { effects: "read", execute: () => Effect.void })
      const fixer = Agent.make("fixer", { tools: [look] })
      const agent = Agent.make("a", {
        tools: [Count.pipe(Tool.onError(Recovery.fix("InvalidArgs", fixer, { steps: 1, times: 3 })))]
      })
      const exit = yield* Effect.exit(Effect.provide(
        Effect.provide(agent.run("x"), layer),
        ScriptedModel.layer([ScriptedModel.call("count", "nonsense"), ScriptedModel.call("look", {})])
      ))
      const failure = Exit.isFailure(exit) ? Cause.squash(exit.cause) : undefined
      assert.instanceOf(failure, ToolError.InvalidArgs)
      assert.deepInclude(failure, { tool: "count", attempt: 1 })
      assert.deepStrictEqual(events.flatMap((event) => event._tag === "FixFinished" ? [event.answer] : []), ["failed"])
    }))

  it.effect("that is a result may be longer than arguments may", () =>
    Effect.gen(function*() {
      const Page = Tool.make("page", {
        parameters: Schema.Struct({ n: Schema.Int }),
        success: Schema.String,
        effects: "read",
        execute: () => Effect.succeed("")
      })
      const long = Agent.fromFunction("long", () => Effect.succeed(Recovery.fixResult("x".repeat(99))))
      const agent = Agent.make("a", {
        tools: [Page.pipe(Tool.onError(Recovery.fix("InvalidArgs", long)))],
        budget: { argumentSize: 50 }
      })
      const answer = yield* Effect.provide(
        agent.run("x"),
        ScriptedModel.layer([ScriptedModel.call("page", "nonsense"), ScriptedModel.text("ok")])
      )
      assert.strictEqual(answer, "ok")
    }))
})

describe("metrics of fixes", () => {
  it.effect("count fixer calls by tool and fixer, and escalations by code", () =>
    Effect.gen(function*() {
      const tool = Tool.make("counted", {
        parameters: Schema.Struct({ n: Schema.Int }),
        success: Schema.Int,
        effects: "read",
        execute: () => Effect.fail(new Down())
      })
      const counts = Effect.map(
        Effect.all([
          Metric.value(Metric.withAttributes(Telemetry.toolFixes, { tool: "counted", fixer: "fixer" })),
          Metric.value(Metric.withAttributes(Telemetry.toolEscalations, { tool: "counted", code: "execution_error" }))
        ]),
        (values) => values.map(({ count }) => count)
      )
      const [fixes = 0, escalations = 0] = yield* counts
      const recovered = tool.pipe(Tool.onError((call) =>
        call.pipe(
          Recovery.fix("InvalidArgs", fixerOf(Effect.succeed("{\"n\":1}")), { times: 2 }),
          Recovery.escalate("ExecutionError")
        )
      ))
      yield* Effect.exit(recovered.call.pipe(by("nonsense")))
      assert.deepStrictEqual(yield* counts, [fixes + 1, escalations + 1])
    }))
})

import { Drive, ScriptedModel } from "@recourse/testing"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Exit, Schedule, Schema } from "effect"
import { CircuitBreaker } from "effect/persistence"
import { TestClock } from "effect/testing"
import { Agent, Policy, Recovery, Tool, ToolCall, type ToolError } from "@recourse/core"
import { by, collect, Down, Gone } from "../support/kit.ts"
import { breaker, play } from "../support/circuitService.ts"

const { call, calls, text } = ScriptedModel

/** A service that is down until it is switched on. */
const service = () => {
  const state = { runs: 0, isDown: true }
  const tool = Tool.make("look", {
    parameters: Schema.Struct({ host: Schema.String }),
    success: Schema.String,
    effects: "read",
    execute: ({ host }) =>
      Effect.suspend(() => {
        state.runs++
        return state.isDown ? Effect.fail(new Down()) : Effect.succeed(host)
      })
  })
  return { state, tool }
}

const escalating = Recovery.policy({ ExecutionError: "escalate", CircuitOpen: "escalate", InvalidArgs: "escalate" })

const look = (host = "a") => call("look", { host })

describe("an open circuit", () => {
  it.effect("prevents a tool's execution, and gives the model the time", () =>
    Effect.gen(function*() {
      const { state, tool } = service()
      const { events, layer } = collect()
      yield* TestClock.setTime(Date.UTC(2026, 0, 1))
      const agent = Agent.make("a", {
        tools: [tool.pipe(Tool.onError(Recovery.circuitBreaker()))],
        defaults: { onError: escalating }
      })
      const { requests, results } = yield* play(agent, [look("a"), look("b"), look("c"), text("ok")]).pipe(
        Effect.provide(layer)
      )
      const { trace_id: _, ...told } = results[2]![0]!
      assert.deepStrictEqual(told, {
        status: "error",
        code: "circuit_open",
        message_for_model: "The tool is temporarily unavailable.",
        message_for_user: "The service is temporarily slow. Please try again later.",
        safe_to_retry: true,
        retry_after_ms: 30_000,
        instruction: "Do not call it before 2026-01-01T00:00:30.000Z. Continue without it, or another way.",
        severity: "medium"
      })
      assert.strictEqual(state.runs, 2)
      // It is still offered, because `hide` is not set.
      assert.deepStrictEqual(requests.at(-1)?.tools, ["look"])
      const open = events.find((event) => event._tag === "ToolCircuitOpen")
      assert.deepInclude(open, { tool: "look", circuit: "look", retryAfter: 30_000 })
    }).pipe(Effect.provide(breaker)))

  it.effect("hides the tool from requests until a retry, if configured", () =>
    Effect.gen(function*() {
      const { state, tool } = service()
      const wait = Tool.make("wait", {
        effects: "read",
        execute: () => Effect.andThen(Effect.sleep("30 seconds"), Effect.sync(() => void (state.isDown = false)))
      })
      const agent = Agent.make("a", {
        tools: [tool.pipe(Tool.onError(Recovery.circuitBreaker({ hide: true }))), wait],
        defaults: { onError: escalating }
      })
      const { requests, results } = yield* Drive.drive(
        play(agent, [look(), look(), call("nope", {}), call("wait", {}), look(), text("ok")])
      )
      assert.deepStrictEqual(requests.map((request) => request.tools), [
        ["look", "wait"],
        ["look", "wait"],
        ["wait"],
        ["wait"],
        ["look", "wait"],
        ["look", "wait"]
      ])
      assert.deepStrictEqual(results[2]![0]!.available_tools, ["wait"])
      assert.deepStrictEqual(results[4], ["a" as never])
      assert.strictEqual(state.runs, 3)
    }).pipe(Effect.provide(breaker)))

  it.effect("is shared by the agent's runs, and closed by a success", () =>
    Effect.gen(function*() {
      const { state, tool } = service()
      const agent = Agent.make("a", {
        tools: [tool.pipe(Tool.onError(Recovery.circuitBreaker({ hide: true })))],
        defaults: { onError: escalating }
      })
      yield* play(agent, [look(), look(), text("ok")])
      const second = yield* play(agent, [look(), text("ok")])
      assert.strictEqual(second.results[0]![0]!.code, "circuit_open")
      assert.deepStrictEqual(second.requests.map((request) => request.tools), [["look"], []])
      assert.strictEqual(state.runs, 2)
      state.isDown = false
      yield* TestClock.adjust("30 seconds")
      const third = yield* play(agent, [look(), look(), text("ok")])
      assert.deepStrictEqual(third.results.flat(), ["a", "a"] as never)
    }).pipe(Effect.provide(breaker)))

  it.effect("is one for each key of the arguments", () =>
    Effect.gen(function*() {
      const { state, tool } = service()
      const keyed = tool.pipe(Tool.onError(Recovery.circuitBreaker({ key: ({ host }) => String(host) })))
      const error = (host: string) => Effect.flip(keyed.call.pipe(by({ host })))
      const tags = yield* Effect.forEach(["a", "a", "a", "b"], (host) => Effect.map(error(host), (e) => e._tag))
      assert.deepStrictEqual(tags, ["ExecutionError", "ExecutionError", "CircuitOpen", "ExecutionError"])
      const open = (yield* error("a")) as ToolError.CircuitOpen
      assert.strictEqual(open.circuit, "look/a")
      assert.strictEqual(state.runs, 3)
    }).pipe(Effect.provide(breaker)))

  it.effect("lets one call probe the service, and rejects the others meanwhile", () =>
    Effect.gen(function*() {
      let runs = 0
      const tool = Tool.make("slow", {
        success: Schema.Number,
        effects: "read",
        execute: () =>
          Effect.suspend(() =>
            ++runs <= 2 ? Effect.fail(new Down()) : Effect.andThen(Effect.sleep("5 seconds"), Clock.currentTimeMillis)
          )
      }).pipe(Tool.onError(Recovery.circuitBreaker()))
      const agent = Agent.make("a", { tools: [tool], defaults: { onError: escalating } })
      const slow = { name: "slow", params: {} }
      yield* play(agent, [call("slow", {}), call("slow", {}), text("ok")])
      yield* TestClock.adjust("30 seconds")
      const { results } = yield* Drive.drive(play(agent, [calls([slow, slow]), text("ok")]))
      assert.strictEqual(typeof results[0]![0], "number")
      assert.deepInclude(results[0]![1], { code: "circuit_open", retry_after_ms: 1000 })
      assert.strictEqual(runs, 3)
    }).pipe(Effect.provide(breaker)))
})

describe("a call whose arguments cannot be read", () => {
  it.effect("uses its tool's circuit, though others have one per key", () =>
    Effect.gen(function*() {
      const { state, tool } = service()
      const fixer = Agent.fromFunction("fixer", () => Effect.succeed("{\"host\":\"a\"}"))
      const keyed = tool.pipe(Tool.onError((call) =>
        call.pipe(
          Recovery.fix("InvalidArgs", fixer),
          Recovery.circuitBreaker({ key: ({ host }) => String(host) })
        )
      ))
      const failed = (args: unknown) => Effect.flip(keyed.call.pipe(by(args)))
      yield* failed("{")
      yield* failed("{")
      const open = (yield* failed("{")) as ToolError.CircuitOpen
      assert.deepInclude(open, { _tag: "CircuitOpen", circuit: "look" })
      assert.strictEqual((yield* failed({ host: "a" }))._tag, "ExecutionError")
      assert.strictEqual(state.runs, 3)
    }).pipe(Effect.provide(breaker)))
})

describe("a circuit is not opened", () => {
  it.effect("by arguments that do not fit", () =>
    Effect.gen(function*() {
      const { state, tool } = service()
      const agent = Agent.make("a", {
        tools: [tool.pipe(Tool.onError(Recovery.circuitBreaker()))],
        defaults: { onError: escalating }
      })
      const wrong = call("look", { host: 1 })
      const { results } = yield* play(agent, [wrong, call("look", { host: 2 }), call("look", { host: 3 }), text("ok")])
      assert.deepStrictEqual(results.flat().map((result) => result.code), [
        "invalid_arguments",
        "invalid_arguments",
        "invalid_arguments"
      ])
      assert.strictEqual(state.runs, 0)
    }).pipe(Effect.provide(breaker)))

  it.effect("by a budget that is used up within it", () =>
    Effect.gen(function*() {
      let runs = 0
      const nested = Tool.make("inner", { execute: () => Effect.void })
      const inner = Agent.make("inner", { tools: [nested] }).pipe(
        Agent.provide(ScriptedModel.layer([call("inner", {}), text("done")]))
      )
      const outer = Tool.make("outer", {
        success: Schema.String,
        effects: "read",
        execute: () => Effect.suspend(() => (runs++, inner.run("go")))
      }).pipe(Tool.onError(Recovery.circuitBreaker()))
      // The outer tool is the one call that there is.
      const agent = Agent.make("a", { tools: [outer], budget: { toolCalls: 1 } })
      const once = agent.report("go").pipe(Effect.provide(ScriptedModel.layer([call("outer", {})])))
      yield* once
      yield* once
      yield* once
      const state = yield* Effect.flatMap(CircuitBreaker.CircuitBreaker, (breaker) => breaker.state("outer"))
      assert.strictEqual(state._tag, "Closed")
      assert.strictEqual(runs, 3)
    }).pipe(Effect.provide(breaker)))

  it.effect("by failures that are said to be none of the service", () =>
    Effect.gen(function*() {
      let runs = 0
      const tool = Tool.make("find", {
        effects: "read",
        execute: (): Effect.Effect<void, Gone | Down> =>
          Effect.suspend(() => Effect.fail(new Gone({ id: `${++runs}` })))
      }).pipe(
        Tool.onError((call) =>
          call.pipe(
            Recovery.circuitBreaker({
              isFailure: (error) => error._tag === "ExecutionError" && error.reason._tag === "Down"
            })
          )
        )
      )
      const tags = yield* Effect.forEach(
        [1, 2, 3, 4],
        () => Effect.map(Effect.flip(tool.call.pipe(by({}))), (error) => error._tag)
      )
      assert.isTrue(tags.every((tag) => tag === "ExecutionError"))
      assert.strictEqual(runs, 4)
    }).pipe(Effect.provide(breaker)))

  it.effect("by errors that an inner recovery escalates", () =>
    Effect.gen(function*() {
      const { state, tool } = service()
      const told = tool.pipe(
        Tool.onError((call) => call.pipe(Recovery.escalate("ExecutionError"), Recovery.circuitBreaker()))
      )
      const tags = yield* Effect.forEach(
        [1, 2, 3, 4],
        () => Effect.map(Effect.flip(told.call.pipe(by({ host: "a" }))), (error) => error._tag)
      )
      assert.deepStrictEqual(new Set(tags), new Set(["Escalation"]))
      assert.strictEqual(state.runs, 4)
    }).pipe(Effect.provide(breaker)))

  for (const [what, denied] of [["may not", true], ["has no budget to", false]] as const) {
    it.effect(`by a failed call that ${what} run again, nor is it closed`, () =>
      Effect.gen(function*() {
        const { state, tool } = service()
        const again = tool.pipe(Tool.onError((call) =>
          call.pipe(
            Effect.onExit((exit) =>
              Exit.isSuccess(exit)
                ? Effect.void
                : Effect.asVoid(
                  Effect.updateService(call, ToolCall.ToolCall, (now) => ({ ...now, arguments: { host: "b" } }))
                )
            ),
            Recovery.circuitBreaker()
          )
        ))
        const onlyA = Policy.make("only a", ({ arguments: args }) =>
          Effect.succeed(denied && (args as { readonly host: string }).host !== "a" ? Policy.deny("b") : Policy.allow))
        const agent = Agent.make("a", {
          tools: [again],
          policies: [onlyA],
          defaults: { onError: escalating },
          budget: denied ? {} : { retriesPerTool: 0 }
        })
        yield* Effect.exit(play(agent, [look(), look(), look(), text("ok")]))
        yield* Effect.exit(play(agent, [look(), text("ok")]))
        yield* Effect.exit(play(agent, [look(), text("ok")]))
        const { state: circuit } = yield* CircuitBreaker.CircuitBreaker
        assert.strictEqual((yield* circuit("look"))._tag, "Closed")
        assert.isAbove(state.runs, 2)
      }).pipe(Effect.provide(breaker)))
  }

  it.effect("by a call that a retry within it rescued", () =>
    Effect.gen(function*() {
      let runs = 0
      const tool = Tool.make("flaky", {
        success: Schema.Int,
        effects: "read",
        execute: () => Effect.suspend(() => ++runs % 2 === 1 ? Effect.fail(new Down()) : Effect.succeed(runs))
      }).pipe(Tool.onError((call) =>
        call.pipe(Recovery.retry({ times: 1, schedule: Schedule.forever }), Recovery.circuitBreaker())
      ))
      const answers = yield* Effect.forEach([1, 2, 3], () =>
        tool.call.pipe(by({})))
      assert.deepStrictEqual(answers, [2, 4, 6])
    }).pipe(Effect.provide(breaker)))
})

/** Tools that call tools: each call has a record, attempts, a key, a gate, events and a span of its own. */

import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Schema } from "effect"
import { Recovery, Tool, ToolCall, ToolError } from "@recourse/core"
import { by } from "../support/kit.ts"
import { agentOf, Args, Down, layer, outer, played, recovered, tool } from "../support/innerCalls.ts"

describe("a tool that a tool calls", () => {
  it.effect("has its own record: reads may call writes, all counted and traced", () =>
    Effect.gen(function*() {
      const pay = tool("pay", "write")
      const a = outer("read", () => pay.tool.call)
      const { events, exit, results } = yield* played(agentOf([a.tool]).report("go"))
      assert.deepStrictEqual(results.map(({ result }) => result), ["pay 1 Ada"])
      assert.deepStrictEqual(pay.runs, [{ to: "Ada", id: "c/pay_1", key: undefined }])
      const { executed } = Exit.isSuccess(exit) ? exit.value : assert.fail()
      assert.deepStrictEqual(executed.map(({ callId, outcome, tool }) => [tool, callId, outcome]), [
        ["outer", "c", "success"],
        ["pay", "c/pay_1", "success"]
      ])
      const own = events.flatMap((event) =>
        "callId" in event && event.callId === "c/pay_1" && "parentCallId" in event
          ? [[event._tag, event.tool, event.parentCallId]]
          : []
      )
      assert.deepStrictEqual(own, [
        ["ToolCallStarted", "pay", "c"],
        ["ToolAttempt", "pay", "c"],
        ["ToolAttemptSucceeded", "pay", "c"],
        ["ToolResult", "pay", "c"]
      ])
    }).pipe(Effect.provide(layer)))

  it.effect("fails with its own error, the reason of the outer one's", () =>
    Effect.gen(function*() {
      const down = tool("down", "read", { failures: 9 })
      const a = outer("read", () => down.tool.call)
      const error = yield* Effect.flip(a.tool.call.pipe(by({ to: "Ada" }))) as Effect.Effect<ToolError.ExecutionError>
      assert.strictEqual(error.tool, "outer")
      assert.instanceOf(error.reason, ToolError.ExecutionError)
      assert.strictEqual((error.reason as ToolError.ExecutionError).tool, "down")
      assert.instanceOf((error.reason as ToolError.ExecutionError).reason, Down)
    }))

  it.effect("is retried on its own account", () =>
    Effect.gen(function*() {
      const down = tool("down", "read", { failures: 2 })
      const a = outer("write", () => Effect.retry(down.tool.call, { times: 2 }))
      const { events, results } = yield* played(
        agentOf([a.tool], { budget: { retriesPerTool: 2 } }).report("go")
      )
      assert.deepStrictEqual(results.map(({ result }) => result), ["down 3 Ada"])
      assert.strictEqual(a.state.runs, 1)
      const attempts = events.flatMap((event) =>
        event._tag === "ToolAttempt" ? [`${event.callId} ${event.attempt}`] : []
      )
      assert.deepStrictEqual(attempts, ["c 1", "c/down_1 1", "c/down_1 2", "c/down_1 3"])
    }).pipe(Effect.provide(layer)))

  it.effect("that writes runs once over retries, outer calls and fallbacks", () =>
    Effect.gen(function*() {
      const retried = tool("pay", "write", { failures: 9 })
      yield* played(agentOf([outer("read", () => Effect.retry(retried.tool.call, { times: 3 })).tool]).report("go"))
      assert.strictEqual(retried.runs.length, 1)

      const within = tool("pay", "write")
      const failing = outer("read", () => Effect.andThen(within.tool.call, Effect.fail(new Down())))
      const again = failing.tool.pipe(
        Tool.onError(((c: Effect.Effect<string, unknown>) => Effect.retry(c, { times: 2 })) as never)
      ) as Tool.Any
      yield* played(agentOf([again]).report("go"))
      assert.strictEqual(failing.state.runs, 3)
      assert.strictEqual(within.runs.length, 1)

      const behind = tool("pay", "write")
      const broken = outer("read", () => Effect.fail(new Down()))
      const more = recovered(
        broken.tool,
        (c) =>
          Effect.retry(Effect.andThen(Effect.catch(c, () => behind.tool.call), Effect.fail(new Down())), { times: 2 })
      )
      yield* played(agentOf([more]).report("go"))
      assert.strictEqual(broken.state.runs, 3)
      assert.strictEqual(behind.runs.length, 1)

      for (const level of ["tool", "agent", "all"]) {
        const second = tool("pay", "write", { failures: 9 })
        const first = outer("read", () => Effect.fail(new Down()))
        const recover = (c: Effect.Effect<string, unknown>) =>
          Effect.retry(Effect.catch(c, () => second.tool.call), { times: 2 })
        const agent = level === "tool"
          ? agentOf([first.tool.pipe(Tool.onError(recover as never)) as Tool.Any])
          : level === "agent"
          ? agentOf([first.tool], { onToolError: { outer: recover } })
          : agentOf([first.tool], { defaults: { onError: Object.assign(recover, Recovery.policy({})) } })
        yield* played(agent.report("go"))
        assert.strictEqual(second.runs.length, 1, level)
      }
    }).pipe(Effect.provide(layer)))

  it.effect("that reads runs again with each attempt of the outer one", () =>
    Effect.gen(function*() {
      const look = tool("look", "read")
      let failures = 1
      const a = outer("read", () =>
        Effect.andThen(look.tool.call, (answer) =>
          failures-- > 0 ? Effect.fail(new Down()) : Effect.succeed(answer)))
      const again = a.tool.pipe(Tool.onError(
        ((c: Effect.Effect<string, unknown>) =>
          Effect.retry(c, { times: 1 })) as never
      )) as Tool.Any
      const { events, results } = yield* played(agentOf([again], { budget: { retriesPerTool: 1 } }).report("go"))
      assert.deepStrictEqual(
        results.map(({ result }) => result),
        ["look 2 Ada"]
      )
      // It is another call then, and no retry.
      assert.deepStrictEqual(
        events.flatMap((event) => event._tag === "ToolAttempt" ? [`${event.callId} ${event.attempt}`] : []),
        ["c 1", "c/look_1 1", "c 2", "c/look_2 1"]
      )
    }).pipe(Effect.provide(layer)))

  it.effect("called twice runs twice, each under a key of its own", () =>
    Effect.gen(function*() {
      const pay = tool("pay", "write", { idempotency: true })
      const to = (name: string) =>
        Effect.provideService(pay.tool.call, ToolCall.ToolCall, ToolCall.make({ id: name, arguments: { to: name } }))
      const a = outer(
        "read",
        () => Effect.map(Effect.all([pay.tool.call, pay.tool.call, to("Bob"), to("Eve")]), String)
      )
      yield* played(agentOf([a.tool]).report("go"))
      assert.deepStrictEqual(pay.runs.map(({ id, to }) => `${id} ${to}`), [
        "c/pay_1 Ada",
        "c/pay_2 Ada",
        "c/Bob Bob",
        "c/Eve Eve"
      ])
      assert.strictEqual(new Set(pay.runs.map(({ key }) => key)).size, 4)
    }).pipe(Effect.provide(layer)))

  it.effect("may be the tool itself", () =>
    Effect.gen(function*() {
      const Down: Tool.Any = Tool.make("outer", {
        parameters: Schema.Struct({ to: Schema.String }),
        success: Schema.String,
        effects: "write",
        execute: ({ to }): Effect.Effect<string, unknown, ToolCall.ToolCall> =>
          to.length === 1 ? Effect.succeed(to) : Effect.flatMap(ToolCall.ToolCall, (current) =>
            Effect.map(
              Effect.provideService(
                Down.call as Effect.Effect<string, unknown, ToolCall.ToolCall>,
                ToolCall.ToolCall,
                { ...current, arguments: { to: to.slice(1) } }
              ),
              (rest) => `${to[0]}-${rest}`
            ))
      }) as never
      const { results } = yield* played(agentOf([Down]).report("go"))
      assert.deepStrictEqual(results.map(({ result }) => result), ["A-d-a"])
    }).pipe(Effect.provide(layer)))

  it.effect("with a key within a keyed tool has its own key", () =>
    Effect.gen(function*() {
      const pay = tool("pay", "write", { idempotency: true })
      const Outer = Tool.make("outer", {
        parameters: Args,
        success: Schema.String,
        effects: "write",
        idempotency: true,
        execute: () => pay.tool.call
      })
      const { results } = yield* played(agentOf([Outer]).report("go"))
      assert.deepStrictEqual(results.map(({ result }) => result), ["pay 1 Ada"])
    }).pipe(Effect.provide(layer)))
})

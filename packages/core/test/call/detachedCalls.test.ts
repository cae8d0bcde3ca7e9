/** Calls of detached fibers: no write starts after the call that it was made in has ended. */
import { assert, describe, it } from "@effect/vitest"
import { Drive, ScriptedModel } from "@recourse/testing"
import { Effect, Exit, Fiber, Schema } from "effect"
import { Agent, IdempotencyLedger, Recovery, Tool, ToolCall } from "@recourse/core"
import { collectLogs } from "../support/kit.ts"

const Order = Schema.Struct({ order: Schema.String })

const world = () => {
  const paid: Array<string> = []
  const tool = Tool.make("pay", {
    parameters: Order,
    success: Schema.String,
    effects: "write",
    execute: ({ order }) => Effect.sync(() => (paid.push(order), "paid"))
  })
  const pay = (order: string, wait: number) =>
    Effect.andThen(
      Effect.sleep(wait),
      Effect.provideService(tool.call, ToolCall.ToolCall, ToolCall.make({ id: order, arguments: { order } }))
    )
  const paying = (...first: ReadonlyArray<ScriptedModel.Turn>) =>
    Agent.make("b", { tools: [tool], defaults: { onError: Recovery.keepGoing } }).pipe(
      Agent.provide(ScriptedModel.layer([...first, ScriptedModel.text("end")]))
    )
  const agent = paying(ScriptedModel.call("pay", { order: "7" }))
  const slowAgent = paying(ScriptedModel.delay("100 millis", ScriptedModel.call("pay", { order: "7" })))
  return { agent, paid, pay, slowAgent }
}

const agentOf = (execute: () => Effect.Effect<unknown, unknown, ToolCall.ToolCall>, options: object = {}) =>
  Agent.make("a", {
    tools: [Tool.make("do", { effects: "write", execute, ...options } as never)],
    defaults: { onError: Recovery.keepGoing }
  } as never).pipe(
    Agent.provide(ScriptedModel.layer(ScriptedModel.steps([
      ScriptedModel.call("do", {}),
      ScriptedModel.delay("1 second", ScriptedModel.text("end"))
    ])))
  ) as unknown as Agent.Agent<string, string, unknown, never>

const detach = (effect: Effect.Effect<unknown, unknown, ToolCall.ToolCall>) => Effect.asVoid(Effect.forkDetach(effect))

/** Executors that leave a payment behind, which starts after 100 ms. */
const executors: Readonly<
  Record<string, (at: ReturnType<typeof world>) => () => Effect.Effect<unknown, unknown, ToolCall.ToolCall>>
> = {
  "that succeeds": ({ pay }) => () => detach(pay("7", 100)),
  "that fails": ({ pay }) => () => Effect.andThen(detach(pay("7", 100)), Effect.fail("down")),
  "that runs an agent": ({ agent }) => () => detach(Effect.delay(agent.run("x"), 100)),
  "whose agent has started": ({ slowAgent }) => () => Effect.andThen(detach(slowAgent.run("x")), Effect.sleep(10)),
  "whose tool is called by a tool": ({ pay }) => {
    const inner = Tool.make(
      "inner",
      { effects: "write", execute: () => detach(pay("7", 100)) } as never
    ) as unknown as {
      readonly call: Effect.Effect<unknown, unknown, ToolCall.ToolCall>
    }
    return () => Effect.andThen(inner.call, Effect.sleep(300))
  }
}

describe("a call of a detached fiber", () => {
  for (const [name, executor] of Object.entries(executors)) {
    it.effect(`does not start after the call ${name}`, () =>
      Effect.gen(function*() {
        const at = world()
        const logs = collectLogs()
        yield* Drive.drive(Effect.andThen(agentOf(executor(at)).report("go"), Effect.sleep("2 seconds"))).pipe(
          Effect.provide(logs.layer)
        )
        assert.deepStrictEqual(at.paid, [])
        assert.isTrue(logs.messages.some((message) => message.includes("Tool \"pay\": it was called within the call")))
      }))
  }

  it.effect("does not start after its run was cancelled", () =>
    Effect.gen(function*() {
      const at = world()
      const agent = agentOf(() =>
        Effect.flatMap(
          Effect.forkDetach(Effect.forEach(["1", "2", "3"], (order) => at.pay(order, 200))),
          Fiber.join
        )
      )
      const paid = yield* Drive.drive(Effect.gen(function*() {
        const run = yield* Effect.forkChild(agent.run("go"))
        yield* Effect.sleep(300)
        yield* Fiber.interrupt(run)
        const paid = at.paid.length
        yield* Effect.sleep("5 seconds")
        return paid
      }))
      assert.strictEqual(paid, 1)
      assert.deepStrictEqual(at.paid, ["1"])
    }))

  it.effect("starts while a race branch executes the outer call and another failed", () =>
    Effect.gen(function*() {
      const { paid, pay } = world()
      let executions = 0
      const inner = Tool.make("inner", {
        success: Schema.String,
        effects: "write",
        idempotency: {},
        execute: (): Effect.Effect<string, unknown> => executions++ === 0 ? Effect.fail("down") : pay("7", 100)
      })
      const outer = Tool.make("do", { success: Schema.String, effects: "idempotent", execute: () => inner.call })
      const raced = outer.pipe(Tool.onError((call) => Effect.race(call, call)))
      const agent = Agent.make("a", { tools: [raced], defaults: { onError: Recovery.keepGoing } }).pipe(
        Agent.provide(ScriptedModel.layer([ScriptedModel.call("do", {}), ScriptedModel.text("end")])),
        Agent.provide(IdempotencyLedger.layerMemory)
      )
      const { exit } = yield* Drive.drive(agent.report("go"))
      assert.deepStrictEqual([exit, paid], [Exit.succeed("end"), ["7"]])
    }))

  it.effect("starts while the call around it runs", () =>
    Effect.gen(function*() {
      const at = world()
      yield* Drive.drive(agentOf(() => Effect.andThen(detach(at.pay("7", 100)), Effect.sleep(200))).report("go"))
      assert.deepStrictEqual(at.paid, ["7"])
    }))
})

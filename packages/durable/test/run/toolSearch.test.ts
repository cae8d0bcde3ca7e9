/** A durable run whose model finds its tools: a recovered run offers the tools that the killed process would have offered. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, Recovery, Tool } from "@recourse/core"
import { Durable, RunStore } from "@recourse/durable"
import { ScriptedModel, VirtualTime } from "@recourse/testing"
import { Effect, Layer, Schema } from "effect"

const worldOf = () => {
  const deeds: Array<string> = []
  const offered: Array<readonly [number, string]> = []
  const tools = Array.from({ length: 20 }, (_, index) =>
    Tool.make(`tool_${index}`, {
      success: Schema.String,
      effects: "write",
      execute: () => Effect.sync(() => (deeds.push(`tool_${index}`), "done"))
    }))
  const agent = Durable.make(Agent.make("clerk", { tools, maxTools: 4, defaults: { onError: Recovery.keepGoing } }))
  const turns = [
    ScriptedModel.call("find_tools", { query: "17" }),
    ScriptedModel.call("tool_17", {}),
    ScriptedModel.call("find_tools", { query: "12" }),
    ScriptedModel.call("tool_12", {})
  ]
  const model = ScriptedModel.layer(({ prompt, tools }) => {
    const turn = prompt.content.filter(({ role }) => role === "assistant").length
    offered.push([turn, tools.join()])
    return turns[turn] ?? ScriptedModel.text("done")
  })
  const store = Effect.runSync(Effect.scoped(Layer.build(Layer.fresh(RunStore.layerMemory))))
  const runners = Durable.layer([agent], { poll: "1 second" }).pipe(
    Layer.provide([Layer.succeedContext(store), model])
  )
  return { deeds, offered, run: Effect.provide(agent.run("r1", "go"), runners) }
}

const expected: ReadonlyArray<string> = [
  "tool_0,tool_1,tool_2,find_tools",
  "tool_0,tool_1,tool_17,find_tools",
  "tool_0,tool_1,tool_17,find_tools",
  "tool_0,tool_12,tool_17,find_tools",
  "tool_0,tool_12,tool_17,find_tools"
]

describe("a durable run whose model finds its tools", () => {
  it.live("offers the same tools in each execution, wherever it is killed", () =>
    Effect.gen(function*() {
      const whole = worldOf()
      const { exit, operations } = yield* VirtualTime.run(whole.run)
      assert.strictEqual(yield* exit, "done")
      assert.deepEqual(whole.offered.map(([, tools]) => tools), expected)
      let recovered = 0
      for (let killAt = 1; killAt < operations; killAt += Math.ceil(operations / 40)) {
        const { deeds, offered, run } = worldOf()
        yield* VirtualTime.run(run, { killAt })
        const before = offered.length
        const { exit } = yield* VirtualTime.run(run, { startAt: 600_000, identity: 1 })
        assert.strictEqual(yield* exit, "done", `killed at ${killAt}`)
        for (const [turn, tools] of offered) assert.strictEqual(tools, expected[turn], `killed at ${killAt}`)
        assert.strictEqual(new Set(deeds).size, deeds.length, `killed at ${killAt}`)
        if (before > 1 && offered.length > before) recovered++
      }
      assert.isAbove(recovered, 5)
    }), 60_000)
})

/**
 * Faults of the next run, with durable runs: its execution has a fiber of its own, and another process does not know
 * the faults.
 */
import { assert, describe, it } from "@effect/vitest"
import { Agent, Recovery, Tool } from "@recourse/core"
import { Durable, RunStore } from "@recourse/durable"
import { NextFaults } from "@recourse/studio"
import { FaultPlan, ScriptedModel } from "@recourse/testing"
import { Effect, Layer, Schema } from "effect"

const Look = Tool.make("look", { success: Schema.String, effects: "read", execute: () => Effect.succeed("free") })
const agent = Durable.make(Agent.make("clerk", { tools: [Look], defaults: { onError: Recovery.keepGoing } }))

describe("the faults of the next run", () => {
  it.live("apply to that durable run only", () =>
    Effect.gen(function*() {
      const told: Array<string> = []
      const model = ScriptedModel.layer(({ prompt }) => {
        const last = prompt.content.at(-1)
        if (last?.role !== "tool") return ScriptedModel.call("look", {}, { id: "c" })
        told.push(JSON.stringify(last.content))
        return ScriptedModel.text("done")
      })
      const runs = NextFaults.runs(Durable.layer([agent], { poll: "10 millis" })).pipe(
        Layer.provide([RunStore.layerMemory, model])
      )
      yield* Effect.gen(function*() {
        const next = yield* NextFaults.NextFaults
        next.injections = [FaultPlan.onTool("look", { type: "failure" })]
        assert.strictEqual(yield* agent.run("r1", "go"), "done")
        assert.deepEqual(next.injections, [])
        assert.strictEqual(yield* agent.run("r2", "go"), "done")
        // A reader that joins a run removes no faults.
        next.injections = [FaultPlan.onTool("look", { type: "failure" })]
        assert.isFalse((yield* agent.start("r2", "go")).isNew)
        assert.strictEqual(next.injections.length, 1)
      }).pipe(Effect.provide(runs))
      assert.deepEqual(told.map((one) => one.includes("free")), [false, true])
    }))
})

import { assert, describe, it } from "@effect/vitest"
import { Agent, Tool } from "@recourse/core"
import { FaultPlan, ScriptedModel, SideEffects, Simulation, Subject, Timeline } from "@recourse/testing"
import { Effect } from "effect"

const request = (what: string) =>
  Effect.flatMap(SideEffects.SideEffects, (world) => world.perform({ tool: "pay", details: what }))

const Pay = Tool.make("pay", {
  effects: "write",
  execute: () => Effect.asVoid(request("pay")),
  compensate: () => Effect.asVoid(request("pay back"))
})

const subject = Subject.make({
  agent: Agent.make("shop", { tools: [Pay], compensation: {} }),
  scenarios: { default: { input: "Pay", model: [ScriptedModel.call("pay", {}), ScriptedModel.text("Paid.")] } }
})

describe("Timeline", () => {
  it.effect("shows faults of the model and compensations at their places", () =>
    Effect.gen(function*() {
      const plan = FaultPlan.make([FaultPlan.onModel({ type: "rate_limit" }, { from: 2 })])
      const observed = yield* Simulation.run(subject, subject.scenarios["default"]!, { plan })
      const lines = Timeline.render(observed).split("\n").map((line) => line.slice(12))
      assert.deepStrictEqual(lines.slice(-7), [
        "  pay call_1 result for the model: null",
        "  turn 2 model called",
        "! model 2: rate_limit",
        "  turn 2 model failed: RateLimitError",
        "> pay asks the service to undo call_1 \"pay back\" without a key",
        "  pay call_1 undone",
        "  shop failed: AiError (rate_limited)"
      ])
    }))
})

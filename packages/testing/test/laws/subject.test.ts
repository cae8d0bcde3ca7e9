/** A subject's facts from its agent. */
import { FaultPlan, ScriptedModel, Simulation, Subject } from "@recourse/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Redacted, Schema } from "effect"
import { Agent, Approval, Recovery, Tool } from "@recourse/core"

const Page = Tool.make("page", {
  success: Schema.String,
  effects: "read",
  trust: "untrusted",
  execute: () => Effect.succeed("x")
})
const Note = Tool.make("note", { effects: "write", execute: () => Effect.void })
const agent = Agent.make("a", {
  tools: [Page],
  skills: [Agent.skill("notes", { description: "Notes", tools: [Note] })],
  onTainted: "deny",
  defaults: { onError: Recovery.keepGoing },
  budget: { turns: 3 }
})
const key = Approval.layerKey(Redacted.make("k".repeat(32)))
const scenarios = { default: { input: "x", model: [ScriptedModel.text("y")] } } as const

describe("a subject", () => {
  it("has its agent's tools and budget, with provided and interactive parts", () => {
    const asking = agent.pipe(Approval.interactive((call) => Effect.succeed(Approval.approve(call))))
    for (const one of [agent, agent.pipe(Agent.provide(Layer.empty)), asking, agent.pipe(Agent.provide(key))]) {
      const subject = Subject.make({ agent: one, scenarios })
      assert.deepStrictEqual(subject.tools.map(({ name }) => name), ["page", "note"])
      assert.deepStrictEqual(subject.budget, { turns: 3 })
      assert.deepStrictEqual(subject.outsiders, ["page"])
    }
  })

  it("has those that it is given in their place", () => {
    const subject = Subject.make({ agent, tools: [Note], budget: { turns: 1 }, scenarios })
    assert.deepStrictEqual(subject.tools, [Note])
    assert.deepStrictEqual(subject.budget, { turns: 1 })
  })

  it("knows composed agents' tools, and names missing ones with functions", () => {
    assert.deepStrictEqual(Subject.make({ agent: Agent.andThen(agent, agent), scenarios }).tools, agent.declared?.tools)
    const both = Agent.andThen(agent, Agent.fromFunction("f", (text: string) => Effect.succeed(text)))
    assert.throws(() => Subject.make({ agent: both, scenarios }), /Subject "a.*: its tools are not known.*`tools`/)
  })

  it.effect("breaks the tools that it has taken", () =>
    Effect.gen(function*() {
      const reader = Agent.make("r", { tools: [Page], defaults: { onError: Recovery.keepGoing } }).pipe(
        Agent.provide(key)
      )
      const model = [ScriptedModel.call("page", {}), ScriptedModel.text("y")] as const
      const subject = Subject.make({ agent: reader, scenarios: { default: { input: "x", model } } })
      const plan = FaultPlan.make([FaultPlan.onTool("page", { type: "failure" })])
      const { injected } = yield* Simulation.run(subject, subject.scenarios["default"]!, { plan })
      assert.deepStrictEqual(injected.map(({ tool, type }) => [tool, type]), [["page", "failure"]])
    }))
})

/** The guide names everything there is, and its suite is the example's. */
import { Expectation, FaultPlan, Laws, ScriptedModel, SideEffects, Simulation, Subject } from "@recourse/testing"
import { Agent, Recovery, Tool } from "@recourse/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { readFileSync } from "node:fs"
import { join } from "node:path"

const root = join(import.meta.dirname, "..", "..", "..")
const guide = readFileSync(join(root, "docs", "testing.md"), "utf8")
const faults = readFileSync(join(root, "docs", "faults.md"), "utf8")

it("names every fault, expectation and law", () => {
  const names = [
    ...FaultPlan.toolFaults,
    ...FaultPlan.modelFaults,
    ...FaultPlan.approvalFaults,
    ...FaultPlan.serviceFaults,
    ...FaultPlan.storeFaults,
    ...FaultPlan.callbackFaults,
    ...Object.keys(Expectation.all),
    ...Object.keys(Laws.all)
  ]
  assert.deepStrictEqual(names.filter((name) => !`${guide}${faults}`.includes(`\`${name}`)), [])
})

it("shows the suite of the example", () => {
  const shown = /```json\n([\s\S]*?)```/.exec(guide)?.[1] ?? ""
  const suite = readFileSync(join(root, "examples", "crm-agent", "suite.json"), "utf8")
  assert.deepStrictEqual(JSON.parse(shown), JSON.parse(suite))
})

/** Faults of the guide's first tables, and whether the tool is run. */
const executed = new Map(
  [...faults.matchAll(/^\| `(\w+)` +\|[^|]*\| (no|yes|if they fit|not yet) +\|$/gm)].map((
    [, type, run]
  ) => [type!, run!])
)

const Save = Tool.make("save", {
  parameters: Schema.Struct({ items: Schema.Array(Schema.String) }),
  success: Schema.Struct({ items: Schema.Array(Schema.String) }),
  effects: "write",
  timeout: "5 seconds",
  needsApproval: true,
  execute: ({ items }) =>
    Effect.flatMap(
      SideEffects.SideEffects,
      (world) => Effect.as(world.perform({ tool: "save", details: items.join() }), { items })
    )
})

const subject = Subject.make({
  agent: Agent.make("clerk", {
    tools: [Save],
    defaults: { onError: Recovery.keepGoing },
    budget: { duration: "1 minute" }
  }),
  scenarios: {
    default: {
      input: "Save a and b",
      model: ScriptedModel.steps([ScriptedModel.call("save", { items: ["a", "b"] }), ScriptedModel.text("Done.")])
    }
  }
})

describe("the guide says whether the tool is run", () => {
  const faults: ReadonlyArray<FaultPlan.Injection> = [
    ...FaultPlan.toolFaults.filter((type) => type !== "missing_arguments").map((type) =>
      FaultPlan.onTool("save", { type } as FaultPlan.ToolFault)
    ),
    FaultPlan.onApproval("save", { type: "approval_rejected" }),
    FaultPlan.onApproval("save", { type: "approval_responded", result: { items: [] } })
  ]

  it.effect.each(faults.map((injection) => ({ injection, type: injection.fault.type })))(
    "of $type",
    ({ injection, type }) =>
      Effect.gen(function*() {
        const { sideEffects } = yield* Simulation.run(subject, subject.scenarios.default, {
          plan: FaultPlan.make([injection])
        })
        assert.strictEqual(sideEffects.length > 0 ? "yes" : "no", executed.get(type))
      })
  )
})

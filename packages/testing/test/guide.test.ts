/** The guide names everything there is, and its suite is the example's. */
import { Expectation, FaultPlan, Laws } from "@recourse/testing"
import { assert, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { join } from "node:path"

const root = join(import.meta.dirname, "..", "..", "..")
const guide = readFileSync(join(root, "docs", "testing.md"), "utf8")

it("names every fault, expectation and law", () => {
  const names = [
    ...FaultPlan.toolFaults,
    ...FaultPlan.modelFaults,
    ...FaultPlan.approvalFaults,
    ...Object.keys(Expectation.all),
    ...Object.keys(Laws.all)
  ]
  assert.deepStrictEqual(names.filter((name) => !guide.includes(`\`${name}`)), [])
})

it("shows the suite of the example", () => {
  const shown = /```json\n([\s\S]*?)```/.exec(guide)?.[1] ?? ""
  const suite = readFileSync(join(root, "examples", "crm-agent", "suite.json"), "utf8")
  assert.deepStrictEqual(JSON.parse(shown), JSON.parse(suite))
})

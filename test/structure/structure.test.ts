/** Structure of the core: states have one writer each, and the numbers of `pnpm structure` can be measured. */
import { assert, describe, it } from "@effect/vitest"
import { fileURLToPath } from "node:url"
import { assignmentsOf } from "../../scripts/structure/assignments.ts"
import { shapesOf } from "../../scripts/structure/holders.ts"
import { measure } from "../../scripts/structure/measure.ts"
import { sourcesOf } from "../../scripts/structure/source.ts"

const root = fileURLToPath(new URL("../..", import.meta.url))
const room = "packages/core/src/internal"
const states = `{${room}/call/record/*.ts,${room}/run/state/*.ts,${room}/run/run.ts,${room}/run/nestedRuns.ts}`

describe("the states of a call and of a run", () => {
  it("are assigned by no other file than their own", () => {
    const paths = new Set(sourcesOf(root, states).map(({ path }) => path))
    const assignments = assignmentsOf(root)
    assert.isAbove(assignments.length, 0)
    assert.deepStrictEqual(assignments.filter(({ declaredIn }) => paths.has(declaredIn)), [])
  }, 60_000)

  it("have at most 15 fields each", () => {
    const shapes = sourcesOf(root, states).flatMap(shapesOf)
    assert.isAbove(shapes.length, 15)
    assert.deepStrictEqual(shapes.filter(({ fields }) => fields.length > 15).map(({ name }) => name), [])
  })

  it("are found in a source by their fields and mutable ones", () => {
    const text = `interface A { readonly a: string; b: number; readonly c: Map<string, string> }
class B { private readonly d = new Set<string>(); static e = 1; readonly f = 1; g = 2 }`
    assert.deepStrictEqual(shapesOf({ path: "x.ts", text }), [
      { path: "x.ts", name: "A", fields: ["a", "b", "c"], changing: ["b", "c"] },
      { path: "x.ts", name: "B", fields: ["d", "f", "g"], changing: ["d", "g"] }
    ])
  })
})

describe("the numbers of the structure", () => {
  it("are all measured", () => {
    for (const [name, number] of Object.entries(measure(root).numbers)) {
      assert.isAbove(number ?? 0, 0, name)
    }
  }, 60_000)
})

/** The tutorial: each page ends with tests that pass, and links the next one. `test/packed` runs its commands. */
import { assert, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { stepsOfGuide } from "../packed/support/page.ts"
import { root } from "../packed/support/workspace.ts"
import { tutorialPages } from "../support/tutorialPages.ts"

describe("tutorial", () => {
  it("has pages that end with a test which passes", () => {
    for (const page of tutorialPages) {
      const last = stepsOfGuide(page).slice(-2)
      assert.deepStrictEqual(last.map(({ kind }) => kind), ["commands", "output"], page)
      assert.include(last[0]!.kind === "commands" ? last[0]!.lines : [], "node --test", page)
    }
  })

  it("links each page to the next one", () => {
    for (const [index, next] of tutorialPages.slice(1).entries()) {
      assert.include(readFileSync(join(root, "docs", tutorialPages[index]!), "utf8"), `](${next})`)
    }
  })
})

/** The tutorial: its pages grow one project, and each page ends with tests that pass. Its commands run in the repository. */
import { assert, describe, it } from "@effect/vitest"
import { mkdirSync, readFileSync, rmSync } from "node:fs"
import { join } from "node:path"
import { type Step, stepsOf } from "../packed/support/page.ts"
import { walk } from "../packed/support/walk.ts"
import { root } from "../packed/support/workspace.ts"
import { tutorialPages } from "../support/tutorialPages.ts"

const stepsOfPage = (page: string): ReadonlyArray<Step> => stepsOf(readFileSync(join(root, "docs", page), "utf8"))

/** The first step of the quickstart, with the name of the tutorial's folder. */
const installation = (): ReadonlyArray<Step> =>
  stepsOfPage("quickstart.md").filter(({ heading }) => heading === "1. Install").map((step) =>
    step.kind === "commands" ? { ...step, lines: step.lines.map((line) => line.replace("my-agent", "my-shop")) } : step
  )

const tsc = join(root, "node_modules/.bin/tsc")

/** The repository has the packages: nothing is installed. */
const substitute = (command: string): string =>
  command.startsWith("npm install") ? "true" : command.replace("npx tsc", `'${tsc}'`)

describe("tutorial", () => {
  it("has pages that end with a test which passes", () => {
    for (const page of tutorialPages) {
      const last = stepsOfPage(page).slice(-2)
      assert.deepStrictEqual(last.map(({ kind }) => kind), ["commands", "output"], page)
      assert.include(last[0]!.kind === "commands" ? last[0]!.lines : [], "node --test", page)
    }
  })

  it("links each page to the next one", () => {
    for (const [index, next] of tutorialPages.slice(1).entries()) {
      assert.include(readFileSync(join(root, "docs", tutorialPages[index]!), "utf8"), `](${next})`)
    }
  })

  // The commands are for sh.
  it.skipIf(process.platform === "win32")("runs as it is shown, page after page", async () => {
    const folder = join(root, "test/guides/.generated")
    rmSync(folder, { recursive: true, force: true })
    mkdirSync(folder, { recursive: true })
    await walk([...installation(), ...tutorialPages.flatMap(stepsOfPage)], { folder, substitute })
    rmSync(folder, { recursive: true })
  }, 240_000)
})

/** The figures of the page that compares one agent in two libraries. */
import { assert, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { join } from "node:path"

const page = readFileSync(join(import.meta.dirname, "../../docs/side-by-side.md"), "utf8")

describe("the support agents side by side", () => {
  it("have the stated numbers of lines", () => {
    const agents = [...page.matchAll(/\/\/ agent\n([^]*?)\/\/ end/g)].map(([, code = ""]) =>
      code.split("\n").filter((line) => line.trim() !== "").length
    )
    const [, aiSdk, recourse] = /AI SDK 7 needs (\d+) lines for the agent, and Recourse (\d+)/.exec(page) ?? []
    assert.deepStrictEqual(agents, [Number(aiSdk), Number(recourse)])
  })
})

/** The README's list of guides, which is the sidebar of the site, has each page of `docs`. */
import { assert, describe, it } from "@effect/vitest"
import { globSync } from "node:fs"
import { join } from "node:path"
import { shelves, shelvesOf } from "../../docs/site/shelves.ts"

const root = join(import.meta.dirname, "../..")

describe("shelves of the README", () => {
  it("have each page of docs once", () => {
    const listed = shelves().flatMap(({ pages }) => pages.map(({ file }) => file))
    const all = globSync("docs/*.md", { cwd: root }).map((file) => file.replaceAll("\\", "/"))
    assert.deepStrictEqual(
      listed.filter((file) => file !== "docs/decisions/README.md").toSorted(),
      all.toSorted()
    )
  })

  it("are Start, Build, Run, Operate, Reference and Contribute", () => {
    assert.deepStrictEqual(
      shelves().map(({ title }) => title),
      ["Start", "Build", "Run", "Operate", "Reference", "Contribute"]
    )
  })

  it("are read from bold lines and the links below them", () => {
    const readme =
      "# A\n\n## Guides\n\nAll.\n\n**Start**\n\n- [One](docs/one.md): a. [two](docs/two.md): c, [b](docs/one.md#b).\n\n## Z\n\n[z](docs/z.md)\n"
    assert.deepStrictEqual(shelvesOf(readme), [{
      title: "Start",
      pages: [
        { label: "One", file: "docs/one.md", route: "one" },
        { label: "Two", file: "docs/two.md", route: "two" }
      ]
    }])
  })
})

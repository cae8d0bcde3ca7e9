/** Pages are whole: relative links point to files and headings that exist, and each column of a table has a header. */
import { assert, describe, it } from "@effect/vitest"
import { existsSync, globSync, readFileSync, statSync } from "node:fs"
import { dirname, join } from "node:path"
import { root } from "../packed/support/workspace.ts"
import { anchorsOf, headersOf, linksOf } from "./markdownLinks.ts"

const pages = globSync(["*.md", "docs/**/*.md", "packages/*/README.md", "examples/*/README.md", "test/README.md"], {
  cwd: root
}).toSorted()

/** The problem of a link of a page, or undefined. */
const problemOf = (file: string, link: string): string | undefined => {
  const [address = "", anchor] = link.split("#")
  // The query is for a page of the site: the playground.
  const path = address.replace(/\?.*/, "")
  const target = path === "" ? join(root, file) : join(root, dirname(file), decodeURIComponent(path))
  if (!existsSync(target)) return `${file}: ${link}: no such file`
  return anchor === undefined || statSync(target).isFile() && anchorsOf(readFileSync(target, "utf8")).has(anchor)
    ? undefined
    : `${file}: ${link}: no such heading`
}

describe("links", () => {
  it("links of each page lead to files and headings that exist", () => {
    const links = pages.flatMap((file) => linksOf(readFileSync(join(root, file), "utf8")).map((link) => [file, link]))
    assert.isAbove(links.length, 600)
    assert.deepStrictEqual(links.flatMap(([file, link]) => problemOf(file!, link!) ?? []), [])
  })

  it("tables have a header for each column", () => {
    const headers = pages.flatMap((file) =>
      headersOf(readFileSync(join(root, file), "utf8")).map((header) => `${file}: ${header}`)
    )
    assert.isAbove(headers.length, 100)
    assert.deepStrictEqual(headers.filter((header) => /\| *\|/.test(header)), [])
  })

  it("to a missing file, a missing heading or a comment are found", () => {
    const page = "docs/deploy.md"
    assert.include(problemOf(page, "missing.md"), "no such file")
    assert.include(problemOf(page, "server.md#missing"), "no such heading")
    assert.include(problemOf(page, "decisions#missing"), "no such heading")
    assert.isUndefined(problemOf(page, "server.md#routes"))
    assert.deepStrictEqual([...anchorsOf("# A `b`\n```sh\n# c\n```\n## A b\n## [D](e.md), f")], ["a-b", "a-b-1", "d-f"])
  })
})

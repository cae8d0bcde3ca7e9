/** Decision records: an imperative title, a status, and a place in the index. */
import { assert, describe, it } from "@effect/vitest"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"

const folder = join(import.meta.dirname, "../../docs/decisions")
const named = (path: string) => readdirSync(join(folder, path)).filter((name) => /^\d{3}-.*\.md$/.test(name))
const index = readFileSync(join(folder, "README.md"), "utf8")

const records = [...named("."), ...named("superseded").map((name) => `superseded/${name}`)].map((path) => {
  const [title = "", , status = ""] = readFileSync(join(folder, path), "utf8").split("\n")
  return { path, title, status }
})

describe("decision records", () => {
  it("have their number and a title of at most eight words", () => {
    const wrong = records.filter(({ path, title }) =>
      !title.startsWith(`# ${/\d{3}/.exec(path)![0]} `) || title.split(" ").length > 2 + 8
    )
    assert.deepStrictEqual(wrong, [])
  })

  it("are accepted, or superseded and in that folder", () => {
    const wrong = records.filter(({ path, status }) =>
      path.startsWith("superseded/")
        ? !/^Status: superseded by \d{3}/.test(status)
        : !status.startsWith("Status: accepted")
    )
    assert.deepStrictEqual(wrong, [])
  })

  it("are in the index under their title", () => {
    const missing = records.filter(({ path, title }) => !index.includes(`- [${title.slice(2)}](${path})`))
    assert.deepStrictEqual(missing, [])
  })
})

/** `docs/errors.md` has a section for each error that a package exports, a row for each code of a failed result, and no other. */
import { assert, describe, it } from "@effect/vitest"
import * as Core from "@recourse/core"
import * as Durable from "@recourse/durable"
import * as Mcp from "@recourse/mcp"
import * as OAuth from "@recourse/mcp/OAuth"
import * as OpenAi from "@recourse/openai-compatible"
import * as Server from "@recourse/server"
import * as Testing from "@recourse/testing"
import { globSync, readFileSync } from "node:fs"
import { join } from "node:path"

const root = join(import.meta.dirname, "../..")
const projection = "packages/core/src/internal/projection"
const page = readFileSync(join(root, "docs/errors.md"), "utf8")

/** The text below each heading, by the heading. */
const sections = new Map(
  page.split(/^### /m).slice(1).map((section) => {
    const end = section.indexOf("\n")
    return [section.slice(0, end).replaceAll("`", ""), section.slice(end + 1).split(/^## /m)[0]!] as const
  })
)

/** The model's text of each code in the table of codes, whose rows have three cells. */
const rows = new Map(
  [...page.split("\n## Codes of failed results\n")[1]!.matchAll(/^\| `(\w+)` +\| \S.*? +\| (\S.*?) +\|$/gm)]
    .map(([, code, model]) => [code!, model!] as const)
)

const errorsOf = (modules: ReadonlyArray<object>): ReadonlyArray<string> =>
  modules.flatMap((module) =>
    Object.entries(module).filter(([, value]) => typeof value === "function" && value.prototype instanceof Error)
      .map(([name]) => name)
  )

const exported = new Set(errorsOf([Core, Durable, OpenAi, Testing].flatMap((barrel) => Object.values<object>(barrel))))

/** The sentence of each code of the table, from the source. */
const sentences = new Map(
  [...readFileSync(join(root, projection, "codeTexts.ts"), "utf8").matchAll(/^ {2}(\w+): \{\s*model: "([^"]*)"/gm)]
    .map(([, code, model]) => [code!, model!] as const)
)

const codes = new Set([
  ...sentences.keys(),
  ...globSync(`${projection}/*.ts`, { cwd: root }).flatMap((file) =>
    [...readFileSync(join(root, file), "utf8").matchAll(/(?:\bcode:|byCode\(|\? )\s*"(\w+)"(?: : "(\w+)")?/g)]
      .flatMap(([, one, other]) => [one!, ...(other === undefined ? [] : [other])])
  ),
  ...Object.keys(Core.Catalogue.en)
])

describe("docs/errors.md", () => {
  it("has a section for each exported error, and no other", () => {
    const described = [...sections.keys()].filter((name) => /^[A-Z]\w+$/.test(name))
    assert.isAbove(exported.size, 30)
    assert.deepStrictEqual(described.toSorted(), [...exported, "AiError"].toSorted())
  })

  it("names each error of MCP servers and of servers over HTTP", () => {
    const others = errorsOf([...Object.values<object>(Mcp), ...Object.values<object>(Server), OAuth])
    assert.isAbove(others.length, 15)
    for (const name of others) assert.include(page, `\`${name}\``)
  })

  it("has a row for each code of a failed result, and no other", () => {
    assert.isAbove(sentences.size, 10)
    assert.deepStrictEqual([...rows.keys()].toSorted(), [...codes].toSorted())
  })

  it("has the model's text of each code, word for word", () => {
    for (const [code, sentence] of sentences) assert.include(rows.get(code), sentence)
  })

  it("names the cause and the remedy of each error", () => {
    for (const [name, text] of sections) {
      assert.match(text, /^\n[^-\n]/, name)
      assert.match(text, /^- \*\*Do\*\*: /m, name)
    }
  })
})

/** The README's first part, which is the front page of the site: its types are the compiler's own. */
import { assert, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { clean, messages } from "../types/compiler.ts"

const readme = readFileSync(join(import.meta.dirname, "../../README.md"), "utf8")

/** The first fence of a kind. */
const fence = (kind: string): string => new RegExp(`^\`\`\`${kind}\\n([^]*?)\`\`\`$`, "m").exec(readme)?.[1] ?? ""

const before = fence("ts").replace("import { Agent, Tool }", "import { Agent, Recovery, Tool }")

/** Applies the changed line of the page. */
const changed = (): string => {
  const [, removed = "", added = ""] = /^-(.*)\n\+(.*)\n$/.exec(fence("diff")) ?? []
  assert.strictEqual(before.split(`\n${removed}\n`).length, 2, "the changed line is in the program once")
  return before.replace(`\n${removed}\n`, `\n${added}\n`)
}

/** The type of `program`, which the compiler names because it is no number. */
const typeOf = (message: string | undefined): string | undefined =>
  /^TS2322: Type '(.*)' is not assignable/.exec(message ?? "")?.[1]

const oneLine = (type: string): string => type.trim().replace(/\s+/g, " ").replace(/< /g, "<").replace(/ >/g, ">")

describe("front page", () => {
  it("shows the compiler's types before and after the changed line", () => {
    const probe = "export const probe: number = program\n"
    const found = messages("front-page", [`${before}${probe}`, `${changed()}${probe}`])
    clean("front-page")
    const types = found.map(([first]) => typeOf(first))
    assert.deepStrictEqual(types, [oneLine(fence("text before")), oneLine(fence("text after"))])
    for (const tag of ["ExecutionError<Unavailable>", "InvalidArgs", "Timeout"]) {
      assert.include(types[0], tag)
      assert.notInclude(types[1], tag)
    }
  }, 120_000)
})

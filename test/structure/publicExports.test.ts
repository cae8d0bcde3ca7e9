/** Docstrings of the public exports: each has a text, and the tags by which tools group exports and date them. */
import { assert, describe, it } from "@effect/vitest"
import { publicExports } from "../../scripts/publicDeclarations.ts"

/** Effect's words for the kinds of exports, and `events` and `commands`. */
const categories: ReadonlySet<string> = new Set([
  "accessors",
  "annotations",
  "combinators",
  "commands",
  "constants",
  "constructors",
  "converting",
  "decoding",
  "encoding",
  "errors",
  "events",
  "formatting",
  "getters",
  "guards",
  "layers",
  "metrics",
  "models",
  "options",
  "predicates",
  "running",
  "schemas",
  "services",
  "testing",
  "type IDs",
  "utility types"
])

const declarations = publicExports().flatMap((one) =>
  one.declarations.map((declaration) => ({
    ...declaration,
    title: `${one.package}/${one.module}.${one.name} in ${declaration.file}`
  }))
).filter(({ docstring }) => !docstring?.text.includes("@internal"))

const tag = (text: string | undefined, name: string): string | undefined =>
  new RegExp(`^ \\* @${name} (.*)$`, "m").exec(text ?? "")?.[1]

const without = (isFine: (text: string | undefined) => boolean): ReadonlyArray<string> =>
  declarations.filter(({ docstring }) => !isFine(docstring?.text)).map(({ title }) => title)

describe("public exports", () => {
  it("are found in all packages", () => {
    assert.isAbove(declarations.length, 1_300)
    assert.strictEqual(new Set(publicExports().map((one) => one.package)).size, 14)
    assert.deepStrictEqual(publicExports().filter((one) => one.declarations.length === 0), [])
  })

  it("have a docstring with a text", () => {
    assert.deepStrictEqual(without((text) => /\w/.test(text?.split(/^ \* @/m)[0] ?? "")), [])
  })

  it("have one of the known categories", () => {
    assert.deepStrictEqual(without((text) => categories.has(tag(text, "category") ?? "")), [])
  })

  it("name the version that they came with", () => {
    assert.deepStrictEqual(without((text) => /^\d+\.\d+\.\d+$/.test(tag(text, "since") ?? "")), [])
  })
})

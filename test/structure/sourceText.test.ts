/** Comments and code of sources, as the checks of the language read them. */
import { assert, describe, it } from "@effect/vitest"
import { codeIn, commentsIn } from "../../scripts/sourceText.ts"

const sources: ReadonlyArray<readonly [source: string, comments: ReadonlyArray<string>, code: string]> = [
  ["const a = 1 // one", ["// one"], "const a = 1 "],
  ["/** Text. */\nconst a = 1", ["/** Text. */"], "\nconst a = 1"],
  ["const a = \"image/*\"\nconst held = 1 /* b */", ["/* b */"], "const a = \"image/*\"\nconst held = 1 "],
  ["const a = 'http://x' // b", ["// b"], "const a = 'http://x' "],
  ["const a = `/* ${b(`// ${c}`)}` // d", ["// d"], "const a = `/* ${b(`// ${c}`)}` "],
  ["const a = `b${c === \"{\" ? \"d\" : \"\"}` // e", ["// e"], "const a = `b${c === \"{\" ? \"d\" : \"\"}` "],
  ["/* \"a */ const b = \"c\" // d", ["/* \"a */", "// d"], " const b = \"c\" "],
  ["const a = /[/*`\"]\\//g // b", ["// b"], "const a = /[/*`\"]\\//g "],
  ["const a = b / 2 // c\nconst d = e / f", ["// c"], "const a = b / 2 \nconst d = e / f"],
  ["const a = \"b\\\"/*\"; const c = 1 // d", ["// d"], "const a = \"b\\\"/*\"; const c = 1 "]
]

describe("the text of a source", () => {
  it.each(sources)("has comments outside of strings only: %s", (source, comments, code) => {
    assert.deepStrictEqual(commentsIn(source), comments)
    assert.strictEqual(codeIn(source), code)
  })
})

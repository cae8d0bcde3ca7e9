/** Types that guides show below a name, by `// ^?`, are the compiler's own. */
import { assert, describe, it } from "@effect/vitest"
import { linesOf, shownTypes } from "../../scripts/shownTypes.ts"

describe("types in guides", () => {
  it("are the compiler's: pnpm docs:types writes them", () => {
    const all = shownTypes()
    assert.isAtLeast(all.length, 5)
    assert.deepStrictEqual(
      all.map(({ name, page, shown }) => [page, name, shown]),
      all.map(({ name, page, type }) => [page, name, type])
    )
  }, 60_000)

  it("have a line for each argument if they are long", () => {
    const long = "A".repeat(90)
    assert.deepStrictEqual(linesOf("//  ^? old", "Effect<string, Down>"), ["//  ^? Effect<string, Down>"])
    assert.deepStrictEqual(linesOf("//  ^?", `Effect<{ a: 1, b: 2 }, ${long}<C>>`), [
      "//  ^? Effect<",
      "//       { a: 1, b: 2 },",
      `//       ${long}<C>`,
      "//     >"
    ])
  })
})

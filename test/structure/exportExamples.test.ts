/** Examples of the public exports that examples, documentation and tests use most. */
import { assert, describe, it } from "@effect/vitest"
import { exportUses } from "../../scripts/exportUses.ts"

const mostUsed = exportUses().slice(0, 40)

describe("most used exports", () => {
  it("are counted", () => {
    assert.include(mostUsed.slice(0, 2).map(({ key }) => key), "core/Agent.make")
    assert.isAbove(mostUsed.at(-1)!.uses, 40)
  })

  for (const { declarations, key } of mostUsed) {
    it(`${key} has an example`, () => {
      assert.isTrue(
        declarations.some(({ docstring }) => docstring?.text.includes("\n * ```ts\n")),
        `${key} is one of the 40 most used exports: write a short example in its docstring, at ${declarations[0]!.file}`
      )
    })
  }
})

/** The reference of options: each option of a public module has a text, and its default or that it is required. */
import { assert, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import type { Option } from "../site/api/options.ts"

const folder = join(import.meta.dirname, "../.api")
const options = JSON.parse(readFileSync(join(folder, "options.json"), "utf8")) as ReadonlyArray<Option>
const page = readFileSync(join(folder, "options.md"), "utf8")

describe("reference of options", () => {
  it("has a text for each option", () => {
    assert.isAbove(options.length, 350)
    assert.deepStrictEqual(options.filter(({ text }) => text === "").map(({ name }) => name), [])
  })

  it("has a row with a default for each option", () => {
    const rows = [...page.matchAll(/^\| `(\w+)` \| .*? \| ((?:\\\||[^|])+) \| ((?:\\\||[^|])+) \|$/gm)]
    assert.strictEqual(rows.length, options.length)
    assert.deepStrictEqual(rows.filter(([, , value]) => value!.trim() === "").map(([row]) => row), [])
  })

  it("reads the defaults that programs rely on", () => {
    for (
      const row of [
        "| `concurrency` | `number \\| \"unbounded\"` | 8 |",
        "| `turns` | `number` | 50 |",
        "| `repeatedCalls` | `number` | 4 |",
        "| `attempts` | `number` | 3 |"
      ]
    ) assert.include(page, row)
  })
})

/** Types of public signatures are exported, but for the recorded ones. */
import { assert, describe, it } from "@effect/vitest"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { unexportedTypes } from "../../docs/site/api/unexportedTypes.ts"

const file = join(import.meta.dirname, "unexportedTypes.json")
const recorded = JSON.parse(readFileSync(file, "utf8")) as ReadonlyArray<string>

/** Helpers of inference, mostly: their results are shown, and their names are not needed. The number may only fall. */
const ceiling = 176

describe("public signatures", () => {
  it("name exported types only, but for the recorded ones", () => {
    const found = unexportedTypes()
    if (process.env["RECOURSE_RECORD"] !== undefined) {
      writeFileSync(file, `${JSON.stringify([...found.keys()], undefined, 2)}\n`)
    }
    const added = [...found].filter(([name]) => !recorded.includes(name)).map(([name, user]) => `${name}, of ${user}`)
    assert.deepStrictEqual(added, [], "export these types, or write their parts into the signature")
    const gone = recorded.filter((name) => !found.has(name))
    assert.deepStrictEqual(gone, [], "exported by now: remove these from the record, and lower the ceiling")
    assert.strictEqual(recorded.length, ceiling)
  }, 60_000)
})

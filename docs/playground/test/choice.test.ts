import { existsSync, globSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "vitest"
import {
  declarationsOf,
  faultsOf,
  frequencies,
  initial,
  nameOf,
  parseChoice,
  printChoice,
  programs,
  tools
} from "../src/choice.ts"
import { cases, declarationWords } from "../src/words.ts"

const docs = join(import.meta.dirname, "../..")

describe("choice", () => {
  it("is the same after its query is read", () => {
    for (const { declared, tool } of programs) {
      for (const fault of faultsOf(tool)) {
        for (const often of frequencies) {
          const choice = { tool, fault, often, declared }
          assert.deepStrictEqual(parseChoice(printChoice(choice)), choice)
        }
      }
    }
  })

  it("has a default for each part that an address lacks", () => {
    assert.deepStrictEqual(parseChoice(""), initial)
    assert.deepStrictEqual(parseChoice("?tool=delete&fault=fire&often=never&with=magic+key"), initial)
  })

  it("ignores declarations that a tool cannot have", () => {
    assert.deepStrictEqual([...parseChoice("?tool=read&with=key+retry").declared], ["retry"])
  })

  it("ignores decisions of people about a read", () => {
    assert.strictEqual(parseChoice("?tool=read&fault=rejected").fault, initial.fault)
    assert.strictEqual(parseChoice("?tool=write&fault=rejected").fault, "rejected")
  })

  it("has one program for each combination of tool and declarations", () => {
    assert.strictEqual(new Set(programs.map(nameOf)).size, programs.length)
    assert.strictEqual(programs.length, tools.reduce((sum, tool) => sum + 2 ** declarationsOf(tool).length, 0))
  })

  it("is printed like the addresses of the offered cases", () => {
    for (const { query } of cases) assert.strictEqual(printChoice(parseChoice(query)), query)
  })

  it("has a guide for each declaration", () => {
    for (const { guide } of Object.values(declarationWords)) assert.isTrue(existsSync(join(docs, `${guide}.md`)), guide)
  })

  it("is printed like the addresses in the guides", () => {
    const queries = globSync("*.md", { cwd: docs })
      .flatMap((file) => [...readFileSync(join(docs, file), "utf8").matchAll(/\]\(playground\/(\?[^)]*)\)/g)])
      .map(([, query]) => query!)
    assert.isAbove(queries.length, 8)
    for (const query of queries) assert.strictEqual(printChoice(parseChoice(query)), query)
  })
})

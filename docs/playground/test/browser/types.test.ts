/** The compiler of the editor gives the answers of the repository's compiler. It reads the built archive. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { gunzipSync } from "node:zlib"
import { assert, describe, it } from "vitest"
import { nameOf, parseChoice, programs } from "../../src/choice.ts"
import type { Compiled } from "../../src/compile.ts"
import { agentFile, worldFile } from "../../src/program.ts"
import { makeCompiler } from "../../src/types/compiler.ts"
import { sentenceOf } from "../../src/types/sentence.ts"

const built = join(import.meta.dirname, "../../../public/playground")
const compiled = JSON.parse(readFileSync(join(built, "compiled.json"), "utf8")) as Readonly<Record<string, Compiled>>
const compiler = makeCompiler(JSON.parse(gunzipSync(readFileSync(join(built, "types.bin"))).toString("utf8")))

const worldOf = (tool: "read" | "write") => worldFile({ tool, fault: "down", often: "once" })

describe("compiler of the editor", () => {
  it("agrees with the repository's compiler", { timeout: 300_000 }, () => {
    // A model's retry changes no type; every tenth of the others.
    for (const program of programs.filter(({ declared }, index) => !declared.has("model-retry") && index % 10 === 0)) {
      const { errors, problems, worldProblems } = compiler.check(agentFile(program), worldOf(program.tool))
      const expected = compiled[nameOf(program)]!
      assert.deepStrictEqual(worldProblems, [])
      if ("messages" in expected) assert.strictEqual(problems.length, expected.messages.length, nameOf(program))
      else assert.deepStrictEqual([problems, errors], [[], expected.errors], nameOf(program))
    }
  })

  it("reports mistakes in the library's sentences", () => {
    const sentences = (change: (text: string) => string, query = "?tool=read") =>
      compiler.check(change(agentFile(parseChoice(query))), worldOf("read")).problems.map(({ message }) =>
        sentenceOf(message)
      )
    assert.deepStrictEqual(sentences((text) => text.replace(/ {2}execute: .*\n/, "")), [
      "A tool needs `execute`: the function that runs it."
    ])
    const withoutOnError = (text: string) =>
      text.replace(/Tool\.onError\(\(call\) =>\s+call\.pipe\(\s+(Recovery\..*)\s+\)\s+\)/, "$1")
    assert.include(
      sentences(withoutOnError, "?tool=read&with=escalate"),
      "This recovers a tool's call: use tool.pipe(Tool.onError(...))."
    )
    assert.deepStrictEqual(sentences((text) => text.replace("Schema.Int", "Schema.Itn")), [
      "Property 'Itn' does not exist on type 'typeof Schema'."
    ])
  })

  it("shows the type of a name", () => {
    const text = agentFile(parseChoice("?tool=read"))
    compiler.check(text, worldOf("read"))
    assert.match(
      compiler.typeAt(text.indexOf("agent =")) ?? "",
      /const agent: Agent\.ModelAgent<.*ExecutionError<OrdersDown>/s
    )
  })
})

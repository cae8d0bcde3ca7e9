import { assert, describe, it } from "@effect/vitest"
import * as FaultCommand from "@recourse/testing/FaultCommand"
import { Effect } from "effect"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { inProcess, run } from "../support/process.ts"

const here = join(import.meta.dirname, "..")
const fixture = (name: string) => join(here, "fixtures", name)
const bin = join(here, "..", "src", "bin.ts")

const program = (...args: ReadonlyArray<string>) => run(bin, ...args)
const within = inProcess(FaultCommand.command)

describe("recourse-faults", { timeout: 60_000 }, () => {
  it.live("prints a table and exits with 0 without progress in pipes", () =>
    Effect.gen(function*() {
      const { code, err, out } = yield* within(fixture("good.json"), "--agent", fixture("shop.ts"))
      assert.deepStrictEqual([code, err], [0, ""])
      assert.match(out, /^pass +slow +search +timeout +retry_then_success +success +2 +1 +2000 ms$/m)
      assert.include(out, "1 of 1 passed")
    }))

  it.live("exits with 1 on a miss, with reasons, JUnit XML and JSON", () =>
    Effect.gen(function*() {
      const folder = mkdtempSync(join(tmpdir(), "faults-"))
      const [junit, json] = [join(folder, "report.xml"), join(folder, "report.json")]
      const args = ["--agent", fixture("shop.ts"), "--junit", junit, "--json", json]
      const { code, err, out } = yield* program(fixture("mixed.json"), ...args)
      assert.deepStrictEqual([code, err], [1, ""])
      assert.match(out, /^MISS +lost "order"/m)
      assert.include(out, "lost \"order\": no call was attempted again")
      assert.match(out, /no call was attempted again\n {9}0 ms {3}shop asked: Order a teapot\n/)
      assert.match(out, /^ +0 ms ! order 1: \w+$/m)
      assert.include(out, "2 of 3 passed")
      const xml = readFileSync(junit, "utf8")
      assert.include(
        xml,
        "<testsuite name=\"mixed &amp; &lt;matched&gt;\" tests=\"3\" failures=\"1\" errors=\"0\" time=\"8.500\">"
      )
      assert.include(xml, "name=\"lost &quot;order&quot;\" time=\"5.000\">")
      assert.match(
        xml,
        /<failure type="retry_then_success" message="no call was attempted again"> +0 ms {3}shop asked: /
      )
      const report = JSON.parse(readFileSync(json, "utf8"))
      assert.deepStrictEqual(
        report.cases.map((one: Record<string, unknown>) => [one["id"], one["tool"], one["passed"], one["elapsed"]]),
        [["slow", "search", true, 2000], ["lost \"order\"", "order", false, 5000], ["busy", null, true, 1500]]
      )
      rmSync(folder, { recursive: true })
    }))

  it.live("exits with 2 when the suite cannot be run, with the fault", () =>
    Effect.gen(function*() {
      const tool = yield* within(fixture("wrong.json"), "--agent", fixture("shop.ts"))
      assert.strictEqual(tool.code, 2)
      assert.include(tool.out + tool.err, "unknown tool: fax (known are search, order)")
      const subject = yield* within(fixture("good.json"), "--agent", bin.replace("bin.ts", "index.ts"))
      assert.strictEqual(subject.code, 2)
      assert.include(subject.out + subject.err, "exports no subject")
      const file = yield* within("nowhere.json", "--agent", fixture("shop.ts"))
      assert.notStrictEqual(file.code, 0)
    }))

  it.live("shows its progress on a terminal, and stays in its width", () =>
    Effect.gen(function*() {
      const onTerminal = inProcess(FaultCommand.command, 60)
      const { code, err, out } = yield* onTerminal(fixture("mixed.json"), "--agent", fixture("shop.ts"))
      assert.strictEqual(code, 1)
      assert.match(err, /\r█{8}░{16} 1\/3\r█{16}░{8} 2\/3 1 missed\r█{24} 3\/3 1 missed\r/)
      assert.include(out, "2 of 3 passed")
      assert.isAtMost(Math.max(...out.split("\n").map((line) => line.length)), 60)
      assert.include(out, "MISS  lost \"order\"\n      order: timeout\n      expected: retry_then_success\n")
      assert.match(out, /no call was attempted again\n {9}0 ms {3}shop asked: Order a teapot\n/)
    }))
})

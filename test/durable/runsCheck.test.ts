/** `recourse-runs check` as a process, over runs that wait on SQLite: of an agent, of one within a tool, and of tools of an MCP server. */
import { assert, describe, it } from "@effect/vitest"
import { execFileSync, spawnSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll } from "vitest"

const folder = mkdtempSync(join(tmpdir(), "recourse-"))
const filename = join(folder, "runs.db")
const module = join(import.meta.dirname, "runsCheck.ts")
const bin = join(import.meta.dirname, "../../packages/durable/src/bin.ts")

const check = (changed: string, ...args: ReadonlyArray<string>) => {
  const { status, stderr, stdout } = spawnSync(process.execPath, [bin, "check", ...args], {
    env: { ...process.env, RUNS_DB: filename, CHANGED: changed },
    encoding: "utf8"
  })
  return { status, stderr, stdout }
}

describe("recourse-runs check", { timeout: 120_000 }, () => {
  beforeAll(() => {
    execFileSync(process.execPath, [module, "start"], { env: { ...process.env, RUNS_DB: filename } })
  }, 120_000)
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  it("keeps all runs if only other tools have changed", () => {
    const { status, stderr, stdout } = check("look,peek,write,mcp read", module)
    assert.deepStrictEqual([stdout, stderr, status], ["keeps 6 of 6\n", "", 0])
  })

  it("names the runs that a changed tool loses, and exits with 1", () => {
    const { status, stdout } = check("refund,mcp pay", module)
    assert.strictEqual(status, 1)
    const why = (agent: string, tool: string) =>
      `The snapshot cannot be resumed by agent "${agent}": tool "${tool}" (waiting) differs in: description. ` +
      "Resume with the program that paused, or start the run again"
    assert.deepStrictEqual(stdout.trimEnd().split("\n"), [
      "keeps 2 of 6; these 4 are lost:",
      `  mcp 2 (mcp): ${why("mcp", "s_pay")}`,
      `  mcp 1 (mcp): ${why("mcp", "s_pay")}`,
      `  desk 2 (desk): ${why("helper", "refund")}`,
      `  desk 1 (desk): ${why("helper", "refund")}`
    ])
  })

  it("prints the tools of each run as JSON", () => {
    const { status, stdout } = check("pay", module, "--json")
    assert.strictEqual(status, 1)
    const { resumable, runs } = JSON.parse(stdout)
    assert.strictEqual(resumable, 4)
    const run = runs.find(({ runId }: { readonly runId: string }) => runId === "clerk 1")
    assert.strictEqual(run.canResume, false)
    assert.deepStrictEqual(
      run.explanation.parts.map((
        { differs, name, role, state }: Record<string, unknown>
      ) => [name, role, state, differs]),
      [["pay", "waiting", "changed", ["description"]], ["look", "irrelevant", "equal", []]]
    )
  })

  it("exits with 2 if the module exports no check", () => {
    const other = join(folder, "other.mjs")
    writeFileSync(other, "export const agents = []\n")
    const { status, stderr } = check("", other)
    assert.strictEqual(status, 2)
    assert.include(stderr, "exports no check: export a RunCheck.make of @recourse/durable")
  })
})

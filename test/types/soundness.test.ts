/** No unlisted error ends a run: random programs, compiled, and run under random faults. */
import { assert, beforeAll, describe, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { header } from "./grammar/program.ts"

const main = join(import.meta.dirname, "main.ts")
const programs = process.env["TYPE_PROGRAMS"] ?? "40"
const seed = process.env["TYPE_SEED"] ?? process.env["RECOURSE_SEED"] ?? "1"

/** A program that hides errors of its type. */
const hiding = (error: string, service: string) =>
  `${header}
export const program = (c: World) => {
  const tool = Tool.make("t", {
    success: Schema.NonEmptyString,
    effects: "read",
    execute: () => Effect.flatMap(Alpha, () => c.act(new Down()))
  })
  const hiding = tool as Tool.Tool<"t", typeof tool.parameters, typeof tool.success, ${error}, ${service}>
  return Agent.make("a", { tools: [hiding] })
}

export const types: 0 = declared(program)
`

/** A program whose type hides a compensation's services. */
const hidingUndo = (service: string) =>
  `${header}
export const program = (c: World) => {
  const tool = Tool.make("t", {
    success: Schema.NonEmptyString,
    effects: "write",
    compensate: () => Beta,
    execute: () => c.act()
  })
  const hiding = tool as Tool.Tool<"t", typeof tool.parameters, typeof tool.success, Tool.Error<typeof tool>, ${service}>
  const fails = Tool.make("fails", { effects: "read", execute: () => c.act(new Down()) as Effect.Effect<never, Down> })
  return Agent.make("a", { tools: [hiding, fails], compensation: { report: c.left } })
}

export const types: 0 = declared(program)
`

const hidden = [
  hiding("Tool.Error<typeof tool>", "Alpha"),
  hiding("never", "Alpha"),
  hiding("Tool.Error<typeof tool>", "never"),
  hidingUndo("never")
]

/** Findings in the programs that hide something, and in random ones: one run of the compiler reads all of them. */
const search = () => {
  const folder = mkdtempSync(join(tmpdir(), "types-"))
  try {
    const files = hidden.map((source, index) => {
      const file = join(folder, `${index}.ts`)
      writeFileSync(file, source)
      return `--file=${file}`
    })
    return spawnSync(process.execPath, [main, ...files, "--programs", programs, "--seed", seed, "--shrink"], {
      encoding: "utf8"
    })
  } finally {
    rmSync(folder, { recursive: true })
  }
}

describe("random programs against their types", () => {
  let found: ReturnType<typeof search>
  beforeAll(() => {
    found = search()
  }, 300_000 + Number(programs) * 1_000)

  it("an error and a service that a type hides are found", () => {
    assert.notMatch(found.stdout, /^1 /m)
    assert.match(found.stdout, /^2 .*fails with ExecutionError\(Down\), which is not in its type$/m)
    assert.match(found.stdout, /^3 .*needs test\/Alpha, which is not in its type$/m)
    assert.match(found.stdout, /^4 .*needs test\/Beta, which is not in its type$/m)
  })

  it(`ends of ${programs} random programs are in their types`, () => {
    const { stderr, stdout } = found
    assert.notMatch(stdout, /^=== /m, stdout + stderr)
    const [, accepted, runs, refused] = /^(\d+) programs run (\d+) times; (\d+) refused/m.exec(stdout) ?? []
    // A grammar whose programs do not compile would have no findings.
    assert.isAbove(Number(accepted), Number(programs) * 0.8, stderr)
    assert.strictEqual(Number(accepted) + Number(refused), Number(programs))
    assert.strictEqual(Number(runs), Number(accepted) * 8)
  })
})

/** Displayed types show possible values and errors, not the computation of the type. */
import { assert, it } from "@effect/vitest"
import { execFileSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"

const fixture = join(import.meta.dirname, "../fixtures/shown")
const tsc = join(dirname(createRequire(import.meta.url).resolve("typescript/package.json")), "bin/tsc")

/** The declarations of the fixture in the compiler's form, without the origins of names. */
const declarations = (): ReadonlyMap<string, string> => {
  const outDir = mkdtempSync(join(tmpdir(), "recourse-shown-"))
  try {
    execFileSync(process.execPath, [tsc, "-b", join(import.meta.dirname, "../.."), "--singleThreaded"], {
      stdio: "pipe"
    })
    execFileSync(process.execPath, [tsc, "-p", fixture, "--outDir", outDir, "--singleThreaded"], { stdio: "pipe" })
    const text = readFileSync(join(outDir, "core/test/fixtures/shown/agents.d.ts"), "utf8")
    const plain = text.replaceAll(/import\("[^"]*"\)\./g, "").replaceAll(/\s+/g, " ")
    return new Map(
      [...plain.matchAll(/declare const (\w+): ([^;]*(?:;[^;]*?}>[^;]*)?);/g)].map(([, name, type]) => [name!, type!])
    )
  } finally {
    rmSync(outDir, { recursive: true })
  }
}

it("types of tools and agents name the errors that are left", { timeout: 60_000 }, () => {
  const shown = declarations()
  const tool = (errors: string, services: string) =>
    `Tool.Tool<"parse", Schema.Struct<{ readonly json: Schema.String; }>, Schema.Int, ${errors}, ${services}>`
  assert.strictEqual(
    shown.get("plain"),
    tool("ExecutionError<Down | NotJson> | InvalidArgs | InvalidResult | Timeout", "never")
  )
  assert.strictEqual(
    shown.get("fixed"),
    tool(
      "AiError | BudgetExceeded | Escalation | ExecutionError<Down | NotJson> | InvalidArgs | InvalidResult | Timeout",
      "LanguageModel"
    )
  )
  assert.strictEqual(
    shown.get("recovered"),
    tool("AiError | BudgetExceeded | Escalation | InvalidResult", "LanguageModel")
  )
  assert.strictEqual(
    shown.get("withoutNotJson"),
    tool("ExecutionError<Down> | InvalidArgs | InvalidResult | Timeout", "never")
  )
  assert.strictEqual(
    shown.get("standard"),
    tool("Escalation | ExecutionError<Down | NotJson> | InvalidResult", "never")
  )
  assert.strictEqual(
    shown.get("asked"),
    tool("ExecutionError<AiError | BudgetExceeded | InvalidInput> | InvalidArgs | InvalidResult", "LanguageModel")
      .replace(
        "Schema.Int",
        "Schema.String"
      )
  )
  assert.strictEqual(
    shown.get("run"),
    "(input: string, options?: Agent.RunOptions) => Effect.Effect<string, AiError | BudgetExceeded | ExecutionError<Down | NotJson> | InvalidResult, LanguageModel>"
  )
})

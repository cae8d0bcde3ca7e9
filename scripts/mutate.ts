/**
 * Mutation testing: changes the code in small ways, and counts the changes that no test notices.
 *
 * `pnpm mutate call` runs Stryker over one room of the core (or `words`, `doors`, or a package's folder name) with the tests
 * that reach it, prints the mutants that survive, and compares the score with the recorded one
 * (`scripts/mutation-scores.json`). It fails where the score falls below it or below the room's aim; `--write` records the
 * score of now. A mutant that no test can notice is listed in `scripts/equivalent-mutants.json` with the reason, and not
 * counted. `--file gate.ts` runs one file and records nothing.
 */
import { execFileSync } from "node:child_process"
import { existsSync, globSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"

interface Mutant {
  readonly mutatorName: string
  readonly replacement?: string
  readonly status: string
  readonly location: {
    readonly start: { readonly line: number; readonly column: number }
    readonly end: Mutant["location"]["start"]
  }
}

interface Report {
  readonly files: Readonly<Record<string, { readonly source: string; readonly mutants: ReadonlyArray<Mutant> }>>
}

interface Equivalent {
  readonly file: string
  readonly original: string
  readonly replacement: string
  readonly why: string
}

const root = join(import.meta.dirname, "..")
const scoresFile = join(root, "scripts/mutation-scores.json")
const [area = "", ...flags] = process.argv.slice(2)
const file = flags.includes("--file") ? flags[flags.indexOf("--file") + 1] : undefined

/** Rooms in which a change that nobody notices costs money or tells a secret. */
const strict = new Set(["idempotency", "approval", "call", "projection", "run"])
const aim = strict.has(area) ? 95 : 90

const isRoom = existsSync(join(root, "packages/core/src/internal", area))
const patterns = isRoom
  ? [`packages/core/src/internal/${area}/${file ?? "*.ts"}`]
  : area === "words" || area === "doors"
  ? [`packages/core/src/${file ?? "*.ts"}`]
  : [`packages/${area}/src/**/${file ?? "*.ts"}`]
const isCore = isRoom || area === "words" || area === "doors"
if (area === "" || globSync(patterns, { cwd: root }).length === 0) {
  process.stderr.write("usage: pnpm mutate <room | words | <package>> [--file name.ts] [--write]\n")
  process.exit(2)
}

const report = join(root, "reports/mutation.json")
const tests = isCore ? "packages/core/test" : `packages/${area}/test`
execFileSync(
  "stryker",
  [
    "run",
    "--mutate",
    patterns.join(","),
    "--incrementalFile",
    `reports/stryker-${area}.json`,
    ...flags.includes("--incremental") ? ["--incremental"] : []
  ],
  {
    cwd: root,
    stdio: ["ignore", "inherit", "inherit"],
    env: { ...process.env, MUTATE_TESTS: tests },
    shell: process.platform === "win32"
  }
)

const equivalents = JSON.parse(
  readFileSync(join(root, "scripts/equivalent-mutants.json"), "utf8")
) as ReadonlyArray<Equivalent>

const textOf = (source: string, { end, start }: Mutant["location"]): string => {
  const lines = source.split("\n").slice(start.line - 1, end.line)
  lines[lines.length - 1] = lines.at(-1)!.slice(0, end.column - 1)
  lines[0] = lines[0]!.slice(start.column - 1)
  return lines.join("\n")
}

const { files } = JSON.parse(readFileSync(report, "utf8")) as Report
let killed = 0
let counted = 0
for (const [path, { mutants, source }] of Object.entries(files)) {
  for (const mutant of mutants) {
    if (mutant.status === "Ignored" || mutant.status === "CompileError" || mutant.status === "RuntimeError") continue
    const original = textOf(source, mutant.location)
    const isEquivalent = equivalents.some((known) =>
      path.endsWith(known.file) && known.original === original && known.replacement === mutant.replacement
    )
    if (isEquivalent) continue
    counted++
    if (mutant.status === "Killed" || mutant.status === "Timeout") killed++
    else {
      process.stdout.write(
        `${path}:${mutant.location.start.line} ${mutant.mutatorName} ${
          mutant.status === "NoCoverage" ? "(no test runs it)" : ""
        }\n` +
          `  - ${original.replaceAll("\n", "\n    ")}\n  + ${mutant.replacement?.replaceAll("\n", "\n    ")}\n`
      )
    }
  }
}

const score = Math.floor((killed / counted) * 1000) / 10
const scores = JSON.parse(readFileSync(scoresFile, "utf8")) as Record<string, number>
const recorded = scores[area] ?? 0
process.stdout.write(
  `${area}: ${killed} of ${counted} mutants killed, ${score} %; recorded ${recorded} %, aim ${aim} %\n`
)
if (file === undefined && flags.includes("--write")) {
  writeFileSync(scoresFile, `${JSON.stringify({ ...scores, [area]: score }, undefined, 2)}\n`)
} else if (file === undefined && score < Math.max(recorded, aim)) process.exitCode = 1

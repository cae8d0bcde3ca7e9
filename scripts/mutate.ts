/**
 * Mutation testing: changes the code in small ways, and counts the changes that no test notices.
 *
 * `pnpm mutate call` runs Stryker over one room of the core (or `words`, or a package's folder name) with the tests that
 * reach it, prints the mutants that survive, and compares each file's score with the recorded one
 * (`scripts/mutation-scores.json`). It fails where a score falls below it or below the file's aim; `--write` records the
 * scores of now. A mutant that no test can notice is listed in `scripts/equivalent-mutants.json` with the reason, and not
 * counted. `--file gate.ts` runs one file. `--tests gate,policy` runs these test files only, which is faster, and gives a
 * score that the whole suite can only raise. `--concurrency 1` leaves the other cores alone.
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
const option = (name: string): string | undefined =>
  flags.includes(`--${name}`) ? flags[flags.indexOf(`--${name}`) + 1] : undefined
const file = option("file")

/** Rooms and words in which a change that no test notices costs money or tells a secret. */
const strict = new Set(["idempotency", "approval", "call", "projection", "run"])
const strictWords = new Set(["Budget.ts", "Quarantine.ts", "Redaction.ts", "RedactionRules.ts"])
const aimOf = (name: string): number => strict.has(area) || (area === "words" && strictWords.has(name)) ? 95 : 90

const isRoom = existsSync(join(root, "packages/core/src/internal", area))
const isCore = isRoom || area === "words"
const folder = isRoom ? `packages/core/src/internal/${area}/` : isCore ? "packages/core/src/" : `packages/${area}/src/`
const patterns = [`${folder}${isCore ? "" : "**/"}${file ?? "*.ts"}`]
if (area === "" || globSync(patterns, { cwd: root }).length === 0) {
  process.stderr.write(
    "usage: pnpm mutate <room | words | package> [--file name.ts] [--tests a,b] [--concurrency n] [--write]\n"
  )
  process.exit(2)
}

const report = join(root, "reports/mutation.json")
const testFolder = isCore ? "packages/core/test" : `packages/${area}/test`
const tests = [
  ...option("tests")?.split(",").map((name) => `${testFolder}/${name}.test.ts`) ?? [`${testFolder}/**/*.test.ts`],
  // What each store does stands beside the tests of databases.
  ...area === "idempotency" ? ["test/stores/storeLaw.test.ts"] : []
]
const concurrency = option("concurrency")
execFileSync(
  "stryker",
  [
    "run",
    "--mutate",
    patterns.join(","),
    "--incrementalFile",
    `reports/stryker-${area}.json`,
    ...concurrency === undefined ? [] : ["--concurrency", concurrency],
    ...flags.includes("--incremental") ? ["--incremental"] : []
  ],
  {
    cwd: root,
    stdio: ["ignore", "inherit", "inherit"],
    env: { ...process.env, MUTATE_TESTS: tests.join(",") },
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

type Scores = Record<string, Record<string, number>>

const scores = JSON.parse(readFileSync(scoresFile, "utf8")) as Scores
const measured: Record<string, number> = {}
const uncounted = new Set(["Ignored", "CompileError", "RuntimeError"])
const { files } = JSON.parse(readFileSync(report, "utf8")) as Report
for (const [path, { mutants, source }] of Object.entries(files)) {
  const name = path.slice(path.indexOf(folder) + folder.length)
  const counted = mutants.filter((mutant) =>
    !uncounted.has(mutant.status) &&
    !equivalents.some((known) =>
      path.endsWith(known.file) && known.original === textOf(source, mutant.location) &&
      known.replacement === mutant.replacement
    )
  )
  if (counted.length === 0) continue
  const survivors = counted.filter(({ status }) => status !== "Killed" && status !== "Timeout")
  for (const { location, mutatorName, replacement, status } of survivors) {
    process.stdout.write(
      `${path}:${location.start.line} ${mutatorName}${status === "NoCoverage" ? " (no test runs it)" : ""}\n` +
        `  - ${textOf(source, location).replaceAll("\n", "\n    ")}\n  + ${replacement?.replaceAll("\n", "\n    ")}\n`
    )
  }
  const killed = counted.length - survivors.length
  const score = Math.floor((killed / counted.length) * 1000) / 10
  const recorded = scores[area]?.[name] ?? 0
  const aim = aimOf(name)
  process.stdout.write(
    `${area}/${name}: ${killed} of ${counted.length} mutants killed, ${score} %; recorded ${recorded} %, aim ${aim} %\n`
  )
  measured[name] = score
  if (score < Math.max(recorded, aim)) process.exitCode = 1
}

const sorted = <V>(record: Readonly<Record<string, V>>): Record<string, V> =>
  Object.fromEntries(Object.entries(record).toSorted(([a], [b]) => a < b ? -1 : 1))

if (flags.includes("--write")) {
  const all = sorted({ ...scores, [area]: sorted({ ...scores[area], ...measured }) })
  writeFileSync(scoresFile, `${JSON.stringify(all, undefined, 2)}\n`)
}

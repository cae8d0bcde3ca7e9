/**
 * Random programs against their types: `node test/types/main.ts --programs 300 --runs 8 --seed 1`.
 *
 * Prints the findings, one example for each kind, shrunk with `--shrink`; with `--refused` the programs that the
 * compiler refuses. `--keep` leaves the programs in `.generated`. Exits with 1 if there are findings. `--file` checks
 * programs of yours as well, each in `--file-runs` runs, and prints the findings of each behind its number first.
 */
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import { parseArgs } from "node:util"
import { clean } from "./compiler.ts"
import { search, shrink } from "./search.ts"

const print = (text: string): void => void process.stdout.write(`${text}\n`)

const { values } = parseArgs({
  options: {
    programs: { type: "string", default: "300" },
    runs: { type: "string", default: "8" },
    seed: { type: "string", default: "1" },
    file: { type: "string", multiple: true, default: [] },
    "file-runs": { type: "string", default: "300" },
    refused: { type: "boolean", default: false },
    shrink: { type: "boolean", default: false },
    keep: { type: "boolean", default: false }
  }
})

const options = {
  programs: Number(values.programs),
  runs: Number(values.runs),
  seed: Number(values.seed),
  sources: values.file.map((file) => readFileSync(file, "utf8")),
  sourceRuns: Number(values["file-runs"])
}

const report = await Effect.runPromise(search(options))
for (const { kind, number } of report.found) print(`${number} ${kind}`)
print(`${report.accepted} programs run ${report.runs} times; ${report.refused.length} refused by the compiler`)
for (const { count, example, kind } of report.kinds) {
  const shown = values.shrink ? await Effect.runPromise(shrink(example, options.runs)) : example
  print(`\n=== ${kind} (${count} programs), for example seed ${shown.seed}:\n`)
  print(shown.detail)
  print(shown.source)
}
if (values.refused) {
  for (const { detail, seed, source } of report.refused) print(`\n=== refused, seed ${seed}:\n\n${detail}\n${source}`)
}
if (!values.keep) clean("programs")
process.exitCode = report.kinds.length + report.found.length === 0 ? 0 : 1

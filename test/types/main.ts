/**
 * Random programs against their types: `node test/types/main.ts --programs 300 --runs 8 --seed 1`.
 *
 * Prints what was found, one example for each kind, shrunk with `--shrink`. Ends with 1 if anything was found.
 */
import { Effect } from "effect"
import { parseArgs } from "node:util"
import { clean } from "./compiler.ts"
import { search, shrink } from "./search.ts"

const { values } = parseArgs({
  options: {
    programs: { type: "string", default: "300" },
    runs: { type: "string", default: "8" },
    seed: { type: "string", default: "1" },
    shrink: { type: "boolean", default: false },
    keep: { type: "boolean", default: false }
  }
})

const options = { programs: Number(values.programs), runs: Number(values.runs), seed: Number(values.seed) }

const report = await Effect.runPromise(search(options))
console.log(`${report.accepted} programs run ${report.runs} times; ${report.refused.length} refused by the compiler`)
for (const { count, example, kind } of report.kinds) {
  const shown = values.shrink ? await Effect.runPromise(shrink(example, options.runs)) : example
  console.log(`\n=== ${kind} (${count} programs), for example seed ${shown.seed}:\n`)
  console.log(shown.detail)
  console.log(shown.source)
}
if (!values.keep) clean()
process.exitCode = report.kinds.length === 0 ? 0 : 1
if (process.env["REFUSED"]) {
  for (const one of report.refused) {
    console.log(`\n### ${one.seed}: ${one.detail}\n${one.source.split("\n").slice(7, -4).join("\n")}`)
  }
}

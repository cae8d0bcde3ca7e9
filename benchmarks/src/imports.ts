/**
 * `pnpm bench:imports [--rounds 21] [--bundled] [--profile <folder>]`: imports of minimal programs in fresh processes, in turns.
 *
 * The order of programs changes from round to round. Ratios are those of medians, to effect/ai. Processor time includes the threads of
 * the compiler and the collector.
 */
import { parseArgs } from "node:util"
import type { ContestantName } from "./Contestant.ts"
import { type ImportTime, importTime, writeProgram } from "./minimalProgram.ts"
import { median } from "./stats.ts"

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "21" },
    bundled: { type: "boolean", default: false },
    profile: { type: "string" }
  }
})
const names: ReadonlyArray<ContestantName> = ["effect/ai", "recourse", "AI SDK"]
const files = new Map<ContestantName, string>()
for (const name of names) files.set(name, (await writeProgram(name))[values.bundled ? "bundle" : "module"])

const times = new Map<ContestantName, Array<ImportTime>>(names.map((name) => [name, []]))
for (let round = 0; round <= Number(values.rounds); round++) {
  for (const name of round % 2 === 0 ? names : names.toReversed()) {
    const time = importTime(files.get(name)!)
    // The first round reads the files from the disk.
    if (round > 0) times.get(name)!.push(time)
  }
}

const medianOf = (name: ContestantName, kind: keyof ImportTime): number =>
  median(times.get(name)!.map((time) => time[kind]))
for (const name of names) {
  const columns = (["wall", "processor"] as const).map((kind) => {
    const least = Math.min(...times.get(name)!.map((time) => time[kind]))
    const ratio = medianOf(name, kind) / medianOf("effect/ai", kind)
    return `${kind} ${medianOf(name, kind).toFixed(0)} ms (least ${least.toFixed(0)}), ${ratio.toFixed(2)}x`
  })
  process.stdout.write(`${name.padEnd(10)} ${columns.join("; ")}\n`)
}
if (values.profile !== undefined) {
  for (const name of names) importTime(files.get(name)!, ["--cpu-prof", `--cpu-prof-dir=${values.profile}`])
}

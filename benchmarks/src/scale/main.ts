/**
 * Growth of a run's cost in one process: `node src/scale/main.ts [--only sides,calls,depth,turns] [--rounds 5]`.
 *
 * Prints the processor time of one agent or turn, in microseconds: the median of the rounds.
 */
import { parseArgs } from "node:util"
import { median } from "../stats.ts"
import { cases, type Program, runOnce } from "./cases.ts"

const { values } = parseArgs({
  options: { only: { type: "string", default: "sides,calls,depth,turns" }, rounds: { type: "string", default: "5" } }
})
const rounds = Number(values.rounds)

const processor = async (program: Program, model: Parameters<typeof runOnce>[1]): Promise<number> => {
  const { system, user } = process.cpuUsage()
  await runOnce(program, model)
  const after = process.cpuUsage()
  return after.system + after.user - system - user
}

for (const [name, { make, sizes }] of Object.entries(cases)) {
  if (!values.only.split(",").some((one) => name.startsWith(one))) continue
  for (const size of sizes) {
    const [program, answers] = make(size)
    for (let n = 0; n < Math.min(20, Math.ceil(4_000 / size)); n++) await processor(program, answers)
    const times: Array<number> = []
    for (let n = 0; n < rounds; n++) {
      const repeats = Math.max(1, Math.floor(2_000 / size))
      let sum = 0
      for (let one = 0; one < repeats; one++) sum += await processor(program, answers)
      times.push(sum / repeats / size)
    }
    process.stdout.write(`${name}: ${size}: ${median(times).toFixed(1)} µs each\n`)
  }
}

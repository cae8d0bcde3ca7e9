/** Measures one case of one workload with one contestant, in this process alone, and writes what it measured. */
import { type ContestantName } from "./Contestant.ts"
import { contestants } from "./contestants.ts"
import { type WorkloadName, workloads } from "./workloads.ts"

const [workloadName, name, size, quick] = process.argv.slice(2) as [WorkloadName, ContestantName, string, string]

const { workload } = await workloads[workloadName]()
const sample = await workload.measure({
  name,
  load: async () => (await contestants[name]()).contestant,
  size: Number(size),
  quick: quick === "quick"
})
process.stdout.write(`\n${JSON.stringify(sample)}\n`)
process.exit()

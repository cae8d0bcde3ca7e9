/**
 * Measures one case of one workload with one contestant, in this process alone: `child.ts <form> <contestant>
 * <workload> <size> [profile]`. In the form `check` it does all workloads of the contestant once. Writes its
 * measurements, a line of JSON for each workload.
 */
import type { ContestantName } from "./Contestant.ts"
import { contestants } from "./contestants.ts"
import type { Form } from "./Form.ts"
import { wanted } from "./profile.ts"
import { type WorkloadName, workloadNames, workloads } from "./workloads.ts"

const [form, name, only, onlySize, how] = process.argv.slice(2) as [
  Form,
  ContestantName,
  WorkloadName?,
  string?,
  "profile"?
]
const shares = how === "profile" ? wanted() : undefined

const measure = async (workloadName: WorkloadName): Promise<void> => {
  const { workload } = await workloads[workloadName]()
  if (!workload.contestants.includes(name)) return
  for (const size of onlySize === undefined ? workload.cases[form] : [Number(onlySize)]) {
    const started = performance.now()
    try {
      const load = async () => (await contestants[name]()).contestant
      const sample = await workload.measure({ name, load, size, form })
      const millis = Math.round(performance.now() - started)
      process.stdout.write(
        `\n${JSON.stringify({ workload: workloadName, size, millis, sample, shares: shares?.() })}\n`
      )
    } catch (error) {
      process.stdout.write(`\n${JSON.stringify({ workload: workloadName, size, error: String(error) })}\n`)
    }
  }
}

for (const workloadName of only === undefined ? workloadNames : [only]) await measure(workloadName)
process.exit()

/**
 * `pnpm bench:check`: each contestant does each workload once, and the work is checked, without measurements. Fails if
 * a contestant fails a workload that it is listed for.
 */
import { contestantNames } from "./Contestant.ts"
import { runChild } from "./runChild.ts"
import { workloadNames, workloads } from "./workloads.ts"

const expected = new Map<string, Set<string>>(contestantNames.map((name) => [name, new Set()]))
for (const workloadName of workloadNames) {
  const { workload } = await workloads[workloadName]()
  for (const name of workload.contestants) expected.get(name)!.add(workloadName)
}

let failed = 0
const waiting = [...contestantNames]
const work = async (): Promise<void> => {
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    const outcomes = await runChild("check", name)
    const missing = expected.get(name)!
    for (const { error, workload } of outcomes) {
      missing.delete(workload)
      if (error === undefined) continue
      failed++
      process.stderr.write(`${name}, ${workload}: ${error}\n`)
    }
    for (const workload of missing) {
      failed++
      process.stderr.write(`${name}, ${workload}: did not run\n`)
    }
    if (process.argv.includes("--times")) {
      for (const { millis, workload } of outcomes) process.stdout.write(`${name}, ${workload}: ${millis} ms\n`)
    }
  }
}
await Promise.all([work(), work()])
if (failed > 0) process.exit(1)
process.stdout.write(`${workloadNames.length} workloads, each done right by its contestants\n`)

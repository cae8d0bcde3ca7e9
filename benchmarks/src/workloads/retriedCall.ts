import { everybody } from "../Contestant.ts"
import { counted, oneCall, standardTimes, timePerRun } from "../measure.ts"
import { Down } from "../Task.ts"
import type { Workload } from "../Workload.ts"

export const workload: Workload = {
  title: "Two failures, then success by retry",
  contestants: everybody,
  cases: () => [1],
  metrics: [{ name: "run", unit: "µs" }],
  rounds: (quick) => quick ? 2 : 5,
  measure: async ({ load, quick }) => {
    let attempts = 0
    const { checked, task } = counted({
      turns: oneCall,
      onFailure: "retry",
      execute: (n) => {
        if (++attempts % 3 !== 0) throw new Down()
        return n * 2
      }
    }, { executions: 3, text: "It is 42." })
    const run = await (await load()).prepare(task)
    return { run: await timePerRun(checked(run), standardTimes(quick)) * 1_000 }
  }
}

import { everybody } from "../Contestant.ts"
import { counted, standardTimes, timePerRun } from "../measure.ts"
import { call, calls, text } from "../Task.ts"
import type { Workload } from "../Workload.ts"

const parallel = 50

export const workload: Workload = {
  title: `${parallel} parallel calls in one turn`,
  contestants: everybody,
  cases: () => [parallel],
  metrics: [{ name: "run", unit: "µs" }],
  rounds: (quick) => quick ? 2 : 5,
  measure: async ({ load, quick }) => {
    const { checked, task } = counted({
      turns: [calls(...Array.from({ length: parallel }, (_, i) => call(`c${i}`, i))), text("Done.")]
    }, { executions: parallel, text: "Done." })
    const run = await (await load()).prepare(task)
    return { run: await timePerRun(checked(run), standardTimes(quick)) * 1_000 }
  }
}

import { counted, oneCall, timePerRun } from "../measure.ts"
import type { Workload } from "../Workload.ts"

export const workload: Workload = {
  title: "The happy path: every recovery declared, and none",
  contestants: ["recourse", "recourse, all recoveries"],
  cases: () => [1],
  metrics: [{ name: "run", unit: "µs" }],
  // Small differences need more measurements.
  rounds: (quick) => quick ? 3 : 11,
  measure: async ({ load, quick }) => {
    const { checked, task } = counted({ turns: oneCall }, { executions: 1, text: "It is 42." })
    const run = await (await load()).prepare(task)
    const times = quick ? { warmUp: 300, budget: 500 } : { warmUp: 1_000, budget: 2_000 }
    return { run: await timePerRun(checked(run), times) * 1_000 }
  }
}

import { everybody } from "../Contestant.ts"
import { counted, oneCall, standardTimes, timePerRun } from "../measure.ts"
import type { Workload } from "../Workload.ts"

export const workload: Workload = {
  title: "One tool call, then text",
  contestants: everybody,
  cases: () => [1],
  metrics: [{ name: "run", unit: "µs" }],
  rounds: (quick) => quick ? 2 : 5,
  measure: async ({ load, quick }) => {
    const { checked, task } = counted({ turns: oneCall }, { executions: 1, text: "It is 42." })
    const run = await (await load()).prepare(task)
    return { run: await timePerRun(checked(run), standardTimes(quick)) * 1_000 }
  }
}

import { everybody } from "../Contestant.ts"
import { counted, oneCall, timePerRun } from "../measure.ts"
import type { Workload } from "../Workload.ts"

const runs = 1_000

export const workload: Workload = {
  title: "1,000 concurrent runs with a 1 ms model",
  contestants: everybody,
  cases: () => [runs],
  metrics: [{ name: "all", unit: "ms" }],
  rounds: (quick) => quick ? 2 : 5,
  measure: async ({ load, quick }) => {
    const { checked, task } = counted({ turns: oneCall, modelDelay: 1 }, { executions: 1, text: "It is 42." })
    const run = await (await load()).prepare(task)
    const times = quick ? { warmUp: 200, budget: 300, atLeast: 2 } : { warmUp: 1_500, budget: 1_500 }
    return { all: await timePerRun(checked(run, runs), times) }
  }
}

import { everybody } from "../Contestant.ts"
import { deepRuns, fewRounds } from "../Form.ts"
import { counted, oneCall, timePerRun } from "../measure.ts"
import type { Workload } from "../Workload.ts"

const all = 1_000

export const workload: Workload = {
  title: "1,000 concurrent runs with a 1 ms model",
  contestants: everybody,
  cases: { full: [all], quick: [all], check: [20] },
  metrics: [{ name: "all", unit: "ms" }],
  rounds: fewRounds,
  measure: async ({ form, load, size }) => {
    const { checked, task } = counted({ turns: oneCall, modelDelay: 1 }, { executions: 1, text: "It is 42." })
    const run = await (await load()).prepare(task)
    return { all: await timePerRun(checked(run, size), deepRuns[form]) }
  }
}

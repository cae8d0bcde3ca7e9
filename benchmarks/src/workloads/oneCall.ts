import { everybody } from "../Contestant.ts"
import { fewRounds, shortRuns } from "../Form.ts"
import { counted, oneCall, timePerRun } from "../measure.ts"
import { always, type Workload } from "../Workload.ts"

export const workload: Workload = {
  title: "One tool call, then text",
  contestants: everybody,
  cases: always([1]),
  metrics: [{ name: "run", unit: "µs" }],
  rounds: fewRounds,
  measure: async ({ form, load }) => {
    const { checked, task } = counted({ turns: oneCall }, { executions: 1, text: "It is 42." })
    const run = await (await load()).prepare(task)
    return { run: await timePerRun(checked(run), shortRuns[form]) * 1_000 }
  }
}

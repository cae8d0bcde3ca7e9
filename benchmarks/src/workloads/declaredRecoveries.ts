import { shortRuns } from "../Form.ts"
import { counted, oneCall, timePerRun } from "../measure.ts"
import { always, type Workload } from "../Workload.ts"

export const workload: Workload = {
  title: "The happy path: every recovery declared, and none",
  contestants: ["recourse", "recourse, all recoveries"],
  cases: always([1]),
  metrics: [{ name: "run", unit: "µs" }],
  // Small differences need more measurements.
  rounds: { full: 5, quick: 3, check: 1 },
  measure: async ({ form, load }) => {
    const { checked, task } = counted({ turns: oneCall }, { executions: 1, text: "It is 42." })
    const run = await (await load()).prepare(task)
    return { run: await timePerRun(checked(run), shortRuns[form]) * 1_000 }
  }
}

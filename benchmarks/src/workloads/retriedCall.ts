import { everybody } from "../Contestant.ts"
import { shortRuns } from "../Form.ts"
import { counted, oneCall, timePerRun } from "../measure.ts"
import { Down } from "../Task.ts"
import { always, type Workload } from "../Workload.ts"

export const workload: Workload = {
  title: "Two failures, then success by retry",
  contestants: everybody,
  cases: always([1]),
  metrics: [{ name: "run", unit: "µs" }],
  rounds: { full: 2, quick: 1, check: 1 },
  measure: async ({ form, load }) => {
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
    return { run: await timePerRun(checked(run), shortRuns[form]) * 1_000 }
  }
}

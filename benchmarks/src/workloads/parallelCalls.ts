import { everybody } from "../Contestant.ts"
import { fewRounds, shortRuns } from "../Form.ts"
import { counted, timePerRun } from "../measure.ts"
import { call, calls, text } from "../Task.ts"
import { always, type Workload } from "../Workload.ts"

const parallel = 50

export const workload: Workload = {
  title: `${parallel} parallel calls in one turn`,
  contestants: everybody,
  cases: always([parallel]),
  metrics: [{ name: "run", unit: "µs" }],
  rounds: fewRounds,
  measure: async ({ form, load }) => {
    const { checked, task } = counted({
      turns: [calls(...Array.from({ length: parallel }, (_, i) => call(`c${i}`, i))), text("Done.")]
    }, { executions: parallel, text: "Done." })
    const run = await (await load()).prepare(task)
    return { run: await timePerRun(checked(run), shortRuns[form]) * 1_000 }
  }
}

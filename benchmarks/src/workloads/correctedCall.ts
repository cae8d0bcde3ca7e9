import { everybody } from "../Contestant.ts"
import { fewRounds, shortRuns } from "../Form.ts"
import { counted, timePerRun } from "../measure.ts"
import { call, calls, Down, text } from "../Task.ts"
import { always, type Workload } from "../Workload.ts"

export const workload: Workload = {
  title: "A failure goes to the model, which corrects its call",
  contestants: everybody,
  cases: always([1]),
  metrics: [{ name: "run", unit: "µs" }],
  rounds: fewRounds,
  measure: async ({ form, load }) => {
    const { checked, task } = counted({
      turns: [calls(call("c1", -1)), calls(call("c2", 21)), text("It is 42.")],
      onFailure: "tell",
      execute: (n) => {
        if (n < 0) throw new Down()
        return n * 2
      }
    }, { executions: 2, text: "It is 42." })
    const run = await (await load()).prepare(task)
    return { run: await timePerRun(checked(run), shortRuns[form]) * 1_000 }
  }
}

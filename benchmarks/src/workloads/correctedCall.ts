import { everybody } from "../Contestant.ts"
import { counted, standardTimes, timePerRun } from "../measure.ts"
import { call, calls, Down, text } from "../Task.ts"
import type { Workload } from "../Workload.ts"

export const workload: Workload = {
  title: "A failure goes to the model, which corrects its call",
  contestants: everybody,
  cases: () => [1],
  metrics: [{ name: "run", unit: "µs" }],
  rounds: (quick) => quick ? 2 : 5,
  measure: async ({ load, quick }) => {
    const { checked, task } = counted({
      turns: [calls(call("c1", -1)), calls(call("c2", 21)), text("It is 42.")],
      onFailure: "tell",
      execute: (n) => {
        if (n < 0) throw new Down()
        return n * 2
      }
    }, { executions: 2, text: "It is 42." })
    const run = await (await load()).prepare(task)
    return { run: await timePerRun(checked(run), standardTimes(quick)) * 1_000 }
  }
}

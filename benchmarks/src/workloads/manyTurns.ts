import { setTimeout } from "node:timers/promises"
import { everybody } from "../Contestant.ts"
import { longRuns } from "../Form.ts"
import { counted, liveMemory, timePerRun } from "../measure.ts"
import { call, calls, text } from "../Task.ts"
import type { Workload } from "../Workload.ts"

export const workload: Workload = {
  title: "One run of many turns with a tool call each",
  contestants: everybody,
  cases: { full: [10, 500], quick: [10, 100], check: [60] },
  metrics: [{ name: "turn", unit: "µs" }, { name: "heap", unit: "KiB" }],
  rounds: { full: 2, quick: 1, check: 1 },
  measure: async ({ form, load, size }) => {
    let atCall: ((n: number) => void) | undefined
    const { checked, task } = counted({
      turns: [...Array.from({ length: size }, (_, i) => calls(call(`c${i}`, i))), text("Done.")],
      execute: (n) => {
        atCall?.(n)
        return n * 2
      }
    }, { executions: size, text: "Done." })
    const run = checked(await (await load()).prepare(task))
    const turn = await timePerRun(run, longRuns[form]) * 1_000 / (size + 1)
    if (form === "check") return { turn, heap: 0 }

    // Memory of the run at its longest: live memory at its last tool call, over that at its first.
    let first = 0
    let heap = 0
    atCall = (n) => {
      if (n === 0) first = liveMemory()
      else if (n === size - 1) heap = (liveMemory() - first) / 1024
    }
    // Once more before, so that an earlier run's remains are the same at both ends.
    await run()
    await setTimeout(50)
    await run()
    return { turn, heap }
  }
}

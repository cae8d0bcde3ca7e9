import { setTimeout } from "node:timers/promises"
import { everybody } from "../Contestant.ts"
import { counted, timePerRun } from "../measure.ts"
import { call, calls, text } from "../Task.ts"
import type { Workload } from "../Workload.ts"

/** Live memory. */
const collect = (): number => {
  if (globalThis.gc === undefined) throw new Error("node must be started with --expose-gc")
  globalThis.gc()
  globalThis.gc()
  return process.memoryUsage().heapUsed
}

export const workload: Workload = {
  title: "One run of many turns with a tool call each",
  contestants: everybody,
  cases: (quick) => quick ? [10, 50, 200] : [10, 50, 200, 500, 2_000],
  metrics: [{ name: "turn", unit: "µs" }, { name: "heap", unit: "KiB" }],
  rounds: (quick) => quick ? 1 : 3,
  measure: async ({ load, quick, size }) => {
    let atCall: ((n: number) => void) | undefined
    const { checked, task } = counted({
      turns: [...Array.from({ length: size }, (_, i) => calls(call(`c${i}`, i))), text("Done.")],
      execute: (n) => {
        atCall?.(n)
        return n * 2
      }
    }, { executions: size, text: "Done." })
    const run = checked(await (await load()).prepare(task))
    const times = quick ? { warmUp: 200, budget: 300 } : { warmUp: 500, budget: 1_000 }
    const turn = await timePerRun(run, { ...times, atLeast: 1 }) * 1_000 / (size + 1)

    // What the run holds when it is longest: live memory at its last tool call, over that at its first.
    let first = 0
    let heap = 0
    atCall = (n) => {
      if (n === 0) first = collect()
      else if (n === size - 1) heap = (collect() - first) / 1024
    }
    // Once more before, so that what an earlier run leaves behind is the same at both ends.
    await run()
    await setTimeout(50)
    await run()
    return { turn, heap }
  }
}

import { counted, liveMemory, oneCall } from "../measure.ts"
import type { Workload } from "../Workload.ts"

export const workload: Workload = {
  title: "1,000 runs that wait for a person",
  contestants: ["recourse", "AI SDK", "OpenAI Agents", "LangChain"],
  cases: { full: [1_000], quick: [1_000], check: [5] },
  metrics: [{ name: "held by a run", unit: "KiB" }],
  rounds: { full: 1, quick: 1, check: 1 },
  measure: async ({ load, name, size }) => {
    const { task } = counted({ turns: oneCall }, { executions: 0, text: "" })
    const pause = await (await load()).preparePause?.(task)
    if (pause === undefined) throw new Error(`${name} has no runs that wait`)
    const pauseAll = async (count: number): Promise<ReadonlyArray<object>> => {
      const kept: Array<object> = []
      for (let run = 0; run < count; run++) kept.push(await pause())
      return kept
    }
    // Reusable parts are made before.
    const warm = await pauseAll(Math.min(size, 50))
    const before = liveMemory()
    const kept = await pauseAll(size)
    const held = (liveMemory() - before) / 1024 / size
    if (warm.length + kept.length === 0) throw new Error("Nothing waits")
    return { "held by a run": held }
  }
}

import { strictEqual } from "node:assert/strict"
import { everybody } from "../Contestant.ts"
import { fewRounds, shortRuns } from "../Form.ts"
import { counted, timePerRun } from "../measure.ts"
import { call, calls, text } from "../Task.ts"
import type { Workload } from "../Workload.ts"

const many = 2_000

export const workload: Workload = {
  title: "2,000 text deltas and one call, streamed",
  // Toolkit.handle alone has no streaming API.
  contestants: everybody.filter((name) => name !== "effect Toolkit.handle"),
  cases: { full: [many], quick: [many], check: [100] },
  metrics: [{ name: "delta", unit: "µs" }],
  rounds: fewRounds,
  measure: async ({ form, load, name, size }) => {
    const pieces = Array.from({ length: size }, (_, i) => `word${i} `)
    const { checked, task } = counted(
      { turns: [calls(call("c1", 21)), text(...pieces)] },
      { executions: 1, text: pieces.join("") }
    )
    let received = 0
    const run = await (await load()).prepareStream?.(task, () => {
      received++
    })
    if (run === undefined) throw new Error(`${name} has no streaming API`)
    const once = checked(run)
    const whole = async () => {
      received = 0
      await once()
      strictEqual(received, size, "deltas received")
    }
    return { delta: await timePerRun(whole, shortRuns[form]) * 1_000 / size }
  }
}

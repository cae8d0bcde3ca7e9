import { strictEqual } from "node:assert/strict"
import { everybody } from "../Contestant.ts"
import { counted, standardTimes, timePerRun } from "../measure.ts"
import { call, calls, text } from "../Task.ts"
import type { Workload } from "../Workload.ts"

const deltas = 2_000

export const workload: Workload = {
  title: "2,000 text deltas and one call, streamed",
  // Toolkit.handle alone has no streaming API.
  contestants: everybody.filter((name) => name !== "effect Toolkit.handle"),
  cases: () => [deltas],
  metrics: [{ name: "delta", unit: "µs" }],
  rounds: (quick) => quick ? 2 : 5,
  measure: async ({ load, name, quick }) => {
    const pieces = Array.from({ length: deltas }, (_, i) => `word${i} `)
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
      strictEqual(received, deltas, "deltas received")
    }
    return { delta: await timePerRun(whole, standardTimes(quick)) * 1_000 / deltas }
  }
}

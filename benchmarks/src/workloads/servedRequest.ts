import { strictEqual } from "node:assert/strict"
import type { ContestantName } from "../Contestant.ts"
import { deepRuns, fewRounds } from "../Form.ts"
import { processorPerRun } from "../measure.ts"
import type { Handler } from "../served/Handler.ts"
import { always, type Workload } from "../Workload.ts"

const handlers: Partial<Record<ContestantName, () => Promise<{ readonly handler: () => Promise<Handler> }>>> = {
  floor: () => import("../served/hono.ts"),
  recourse: () => import("../served/recourse.ts"),
  "AI SDK": () => import("../served/aiSdk.ts")
}

export const workload: Workload = {
  title:
    "A message of a page, answered by a server in memory with 3 streamed deltas; the floor is Hono, which only writes them",
  contestants: Object.keys(handlers) as ReadonlyArray<ContestantName>,
  cases: always([3]),
  metrics: [{ name: "request", unit: "processor µs" }],
  rounds: fewRounds,
  measure: async ({ form, name, size }) => {
    const handle = await (await handlers[name]!()).handler()
    let messages = 0
    const run = async () => {
      const id = `message-${messages++}`
      const response = await handle(
        new Request("http://localhost/agents/clerk/chat", {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({
            id: `thread-${id}`,
            trigger: "submit-message",
            messages: [{ id, role: "user", parts: [{ type: "text", text: "Say three words" }] }]
          })
        })
      )
      const text = await response.text()
      strictEqual(response.status, 200, text)
      strictEqual(text.match(/"text-delta"/g)?.length, size, "deltas received")
    }
    return { request: await processorPerRun(run, deepRuns[form]) }
  }
}

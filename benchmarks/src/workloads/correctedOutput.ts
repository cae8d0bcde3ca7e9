import { strictEqual } from "node:assert/strict"
import { deepRuns, fewRounds } from "../Form.ts"
import { processorPerRun } from "../measure.ts"
import { scriptedFetch } from "../providers/http.ts"
import { loadProvider, namesOf, shippedProviders } from "../providers/Provider.ts"
import { text } from "../Task.ts"
import { always, type Workload } from "../Workload.ts"

export const workload: Workload = {
  title: "Structured output with one correction, through the shipped provider",
  contestants: namesOf(shippedProviders),
  cases: always([1]),
  metrics: [{ name: "run", unit: "processor µs" }],
  rounds: fewRounds,
  measure: async ({ form, name }) => {
    const turns = [text("{\"total\":\"many\"}"), text("{\"total\":42}")]
    const provider = await loadProvider(shippedProviders, name)
    const once = await provider.prepareObject(scriptedFetch({ turns, streamed: false, tools: 0 }))
    const run = async () => strictEqual(await once(), "42", "total")
    return { run: await processorPerRun(run, deepRuns[form]) }
  }
}

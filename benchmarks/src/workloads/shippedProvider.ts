/** A call and an answer through the shipped providers, over HTTP in memory: the work of a request, with 1, 20 and 60 tools. */
import { strictEqual } from "node:assert/strict"
import type { ContestantName } from "../Contestant.ts"
import { scriptedFetch } from "../providers/http.ts"
import type { ProviderContestant } from "../providers/Provider.ts"
import type { Workload } from "../Workload.ts"

const providers: Partial<Record<ContestantName, () => Promise<{ readonly contestant: ProviderContestant }>>> = {
  recourse: () => import("../providers/recourse.ts"),
  "AI SDK": () => import("../providers/aiSdk.ts")
}

/** Processor time of this process in microseconds, with that of the collector and the compiler. */
const processorTime = (): number => {
  const { system, user } = process.cpuUsage()
  return system + user
}

/** Runs until a processor time in milliseconds is used, first to warm up. Returns that of a run in microseconds. */
const processorPerRun = async (run: () => Promise<void>, options: {
  readonly warmUp: number
  readonly budget: number
}): Promise<number> => {
  const repeat = async (milliseconds: number): Promise<number> => {
    const start = processorTime()
    let runs = 0
    do {
      for (let batch = 0; batch < 10; batch++) await run()
      runs += 10
    } while (processorTime() - start < milliseconds * 1_000)
    return (processorTime() - start) / runs
  }
  await repeat(options.warmUp)
  return repeat(options.budget)
}

export const shippedProvider = (options: {
  readonly title: string
  readonly streamed: boolean
  /** The text of the answer, in the pieces of a stream. */
  readonly text: ReadonlyArray<string>
}): Workload => ({
  title: options.title,
  contestants: Object.keys(providers) as ReadonlyArray<ContestantName>,
  cases: () => [1, 20, 60],
  metrics: [{ name: "processor", unit: "µs" }],
  rounds: (quick) => quick ? 2 : 5,
  measure: async ({ name, quick, size }) => {
    const { streamed, text } = options
    const provider = providers[name]
    if (provider === undefined) throw new Error(`${name} is measured through no provider`)
    let executions = 0
    let deltas = 0
    const once = await (await provider()).contestant.prepare({
      tools: size,
      streamed,
      fetch: scriptedFetch({ text, streamed, tools: size }),
      execute: (n) => {
        executions++
        return n * 2
      },
      onDelta: () => {
        deltas++
      }
    })
    const run = async () => {
      executions = 0
      deltas = 0
      strictEqual(await once(), text.join(""), "final text")
      strictEqual(executions, 1, "number of tool executions")
      if (streamed) strictEqual(deltas, text.length, "deltas received")
    }
    return {
      processor: await processorPerRun(run, quick ? { warmUp: 800, budget: 400 } : { warmUp: 4_000, budget: 2_000 })
    }
  }
})

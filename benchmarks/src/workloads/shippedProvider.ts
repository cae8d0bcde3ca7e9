/** Runs through the shipped providers, over HTTP in memory: the work of a request. */
import { strictEqual } from "node:assert/strict"
import { type ByForm, deepRuns, fewRounds } from "../Form.ts"
import { processorPerRun } from "../measure.ts"
import { scriptedFetch } from "../providers/http.ts"
import { loadProvider, namesOf, type Providers, shippedProviders } from "../providers/Provider.ts"
import { call, calls, text, type Turn } from "../Task.ts"
import type { Workload } from "../Workload.ts"

/** The shape of a run, by the size of a case. */
interface Shape {
  readonly tools: number
  readonly turns: ReadonlyArray<Turn>
  /** Divisor of the processor time. */
  readonly per: number
}

/** Turns with a tool call each, then a text. */
export const callsThenText = (count: number, pieces: ReadonlyArray<string>): ReadonlyArray<Turn> => [
  ...Array.from({ length: count }, (_, index) => calls(call(`c${index}`, index))),
  text(...pieces)
]

export const shippedProvider = (options: {
  readonly title: string
  readonly streamed: boolean
  readonly metric: string
  readonly contestants?: Providers
  readonly cases: ByForm<ReadonlyArray<number>>
  readonly shape: (size: number) => Shape
}): Workload => ({
  title: options.title,
  contestants: namesOf(options.contestants ?? shippedProviders),
  cases: options.cases,
  metrics: [{ name: options.metric, unit: "processor µs" }],
  rounds: fewRounds,
  measure: async ({ form, name, size }) => {
    const { streamed } = options
    const { per, tools, turns } = options.shape(size)
    let executions = 0
    let deltas = 0
    const once = await (await loadProvider(options.contestants ?? shippedProviders, name)).prepare({
      tools,
      streamed,
      fetch: scriptedFetch({ turns, streamed, tools }),
      execute: (n) => {
        executions++
        return n * 2
      },
      onDelta: () => {
        deltas++
      }
    })
    const last = turns.at(-1)!.text
    const run = async () => {
      executions = 0
      deltas = 0
      strictEqual(await once(), last.join(""), "final text")
      strictEqual(executions, turns.length - 1, "number of tool executions")
      if (streamed) strictEqual(deltas, last.length, "deltas received")
    }
    return { [options.metric]: await processorPerRun(run, deepRuns[form]) / per }
  }
})

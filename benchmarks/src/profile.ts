/** Profiles: which package's code the processor ran while a workload was measured. */
import { Session } from "node:inspector/promises"
import { table } from "./table.ts"
import type { WorkloadName } from "./workloads.ts"

/** Shares of the processor's time by part, from 0 to 1. */
export type Shares = Readonly<Record<string, number>>

export interface Profile {
  readonly workload: WorkloadName
  readonly size: number
  readonly shares: Shares
}

/** Profiled work, in the order of the table. */
export const profiled: ReadonlyArray<
  { readonly workload: WorkloadName; readonly size: number; readonly label: string }
> = [
  { workload: "W1", size: 1, label: "W1" },
  { workload: "W8", size: 2_000, label: "W8" },
  { workload: "W10", size: 1, label: "W10, 1 tool" },
  { workload: "W10", size: 60, label: "W10, 60 tools" },
  { workload: "W12", size: 2_000, label: "W12" },
  { workload: "W18", size: 1, label: "W18, 1 tool" },
  { workload: "W19", size: 1, label: "W19" },
  { workload: "W20", size: 3, label: "W20" }
]

const parts: ReadonlyArray<readonly [part: string, files: RegExp]> = [
  ["`@recourse/core`", /\/packages\/core\//],
  ["other packages of Recourse", /\/packages\//],
  ["the workload", /\/benchmarks\/src\//],
  ["effect: HTTP client and server", /\/effect\/dist\/http\//],
  ["effect: schemas", /\/effect\/dist\/(?:Schema|internal\/schema)/],
  ["effect: its interpreter, and the rest", /\/effect\/dist\/|\/@effect\//],
  ["other packages", /\/node_modules\//]
]
const collector = "garbage collection"
const rest = "Node.js and the engine"

const partOf = (url: string, functionName: string): string | undefined => {
  // The profiler's own start and end take part of a second.
  if (functionName === "(idle)" || url === "node:inspector") return undefined
  if (functionName === "(garbage collector)") return collector
  return parts.find(([, files]) => files.test(url))?.[0] ?? rest
}

/** Runs work under the profiler of this process. */
export const profile = async (work: () => Promise<unknown>): Promise<Shares> => {
  const session = new Session()
  session.connect()
  await session.post("Profiler.enable")
  await session.post("Profiler.setSamplingInterval", { interval: 200 })
  await session.post("Profiler.start")
  await work()
  const { profile: { nodes, samples = [] } } = await session.post("Profiler.stop")
  session.disconnect()
  const partById = new Map(nodes.map(({ callFrame, id }) => [id, partOf(callFrame.url, callFrame.functionName)]))
  // Samples are counted, not their times: the time of one that the profiler took late is its own.
  const counts = new Map<string, number>()
  let all = 0
  for (const id of samples) {
    const part = partById.get(id)
    if (part === undefined) continue
    counts.set(part, (counts.get(part) ?? 0) + 1)
    all++
  }
  return Object.fromEntries(Array.from(counts, ([part, count]) => [part, count / all]))
}

/** Wrapper of the measured runs of this process: the profiler, if requested. */
export const around: { run: (work: () => Promise<number>) => Promise<number> } = { run: (work) => work() }

/** Requests a profile of the next measurement; returns it afterwards. */
export const wanted = (): () => Shares => {
  let shares: Shares = {}
  around.run = async (work) => {
    let result = 0
    shares = await profile(async () => {
      result = await work()
    })
    return result
  }
  return () => shares
}

/** The section of the page. */
export const profileTable = (profiles: ReadonlyArray<Profile>): ReadonlyArray<string> => {
  const columns = profiled.flatMap(({ label, size, workload }) => {
    const found = profiles.find((profile) => profile.workload === workload && profile.size === size)
    return found === undefined ? [] : [{ label, shares: found.shares }]
  })
  if (columns.length === 0) return []
  const names = [...parts.map(([part]) => part), rest, collector]
  const rows = names.map((name) => [
    name,
    ...columns.map(({ shares }) => `${Math.round((shares[name] ?? 0) * 100)} %`)
  ])
  return [
    "## Breakdown of the time",
    "",
    "Shares of the processor's time of Recourse while a workload is measured, by the package whose code runs.",
    "",
    table(
      ["code of", ...columns.map(({ label }) => label)],
      rows.filter((row) => row.slice(1).some((cell) => cell !== "0 %"))
    )
  ]
}

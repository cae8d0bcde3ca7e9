/** `pnpm bench [--only W1,W3] [--quick]`: every contestant through every workload, side by side. A whole run publishes its results. */
import { mkdirSync, writeFileSync } from "node:fs"
import { parseArgs } from "node:util"
import type { ContestantName } from "./Contestant.ts"
import type { Form } from "./Form.ts"
import { type Profile, profiled } from "./profile.ts"
import { origin, publish } from "./publish.ts"
import { type Row, section, type WorkloadResult } from "./report.ts"
import { runChild } from "./runChild.ts"
import { summarise } from "./stats.ts"
import type { Sample } from "./Workload.ts"
import { type WorkloadName, workloadNames, workloads } from "./workloads.ts"

const { values } = parseArgs({
  options: { only: { type: "string" }, quick: { type: "boolean", default: false } }
})
const form: Form = values.quick ? "quick" : "full"
const wanted = values.only === undefined ? workloadNames : values.only.split(",") as ReadonlyArray<WorkloadName>
const unknown = wanted.filter((name) => !workloadNames.includes(name))
if (unknown.length > 0) {
  process.stderr.write(`There is no workload ${unknown.join(", ")}. There are ${workloadNames.join(", ")}.\n`)
  process.exit(1)
}

const results = new URL("../results/", import.meta.url)

const measure = async (workload: WorkloadName, contestant: ContestantName, size: number): Promise<Sample> => {
  const [outcome] = await runChild(form, contestant, { workload, size })
  if (outcome?.sample === undefined) throw new Error(outcome?.error ?? "The process has no measurement")
  return outcome.sample
}

/** All contestants in turn, then all of them again, so that other load of the machine affects all. */
const measureAll = async (name: WorkloadName): Promise<WorkloadResult> => {
  const { workload } = await workloads[name]()
  const pairs = workload.cases[form].flatMap((size) => workload.contestants.map((contestant) => ({ size, contestant })))
  const samples = new Map<string, Array<Sample>>()
  const errors = new Map<string, string>()
  const key = (contestant: ContestantName, size: number) => `${contestant} ${size}`
  for (let round = 1; round <= workload.rounds[form]; round++) {
    for (const { contestant, size } of pairs) {
      const id = key(contestant, size)
      if (errors.has(id)) continue
      process.stderr.write(`${name} round ${round}: ${id}\n`)
      try {
        samples.set(id, [...samples.get(id) ?? [], await measure(name, contestant, size)])
      } catch (error) {
        errors.set(id, String(error))
        process.stderr.write(`${String(error)}\n`)
      }
    }
  }
  const rows = pairs.map(({ contestant, size }): Row => {
    const error = errors.get(key(contestant, size))
    if (error !== undefined) return { contestant, size, metrics: undefined, error }
    const measured = samples.get(key(contestant, size))!
    return {
      contestant,
      size,
      metrics: Object.fromEntries(
        workload.metrics.map((metric) => [metric.name, summarise(measured.map((sample) => sample[metric.name]!))])
      )
    }
  })
  return { workload: name, title: workload.title, metrics: workload.metrics, rows }
}

const measured: Array<WorkloadResult> = []
const from = origin()
mkdirSync(results, { recursive: true })
for (const name of wanted) {
  const started = performance.now()
  const result = await measureAll(name)
  measured.push(result)
  process.stderr.write(`${name} took ${Math.round((performance.now() - started) / 1_000)} s\n`)
  process.stdout.write(`${section(result)}\n`)
  // After each workload, so that an interrupted run keeps its results.
  writeFileSync(new URL("latest.json", results), JSON.stringify({ ...from, form, measured }, null, 2))
}
if (form === "full" && values.only === undefined) {
  const profiles: Array<Profile> = []
  for (const { size, workload } of profiled) {
    process.stderr.write(`profile of ${workload} ${size}\n`)
    const [outcome] = await runChild(form, "recourse", { workload, size, isProfiled: true })
    if (outcome?.shares === undefined) throw new Error(outcome?.error ?? "No profile")
    profiles.push({ workload, size, shares: outcome.shares })
  }
  publish({ ...from, measured, profiles })
}
if (measured.some(({ rows }) => rows.some((row) => row.error !== undefined))) process.exitCode = 1

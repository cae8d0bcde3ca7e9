/** `pnpm bench [--only W1,W3] [--quick]`: every contestant through every workload, side by side. */
import { execFile } from "node:child_process"
import { mkdirSync, writeFileSync } from "node:fs"
import { cpus } from "node:os"
import { fileURLToPath } from "node:url"
import { parseArgs, promisify } from "node:util"
import type { ContestantName } from "./Contestant.ts"
import { type Row, section, type WorkloadResult } from "./report.ts"
import { summarise } from "./stats.ts"
import { type Sample } from "./Workload.ts"
import { type WorkloadName, workloads } from "./workloads.ts"

const { values } = parseArgs({
  options: { only: { type: "string" }, quick: { type: "boolean", default: false } }
})
const names = Object.keys(workloads) as ReadonlyArray<WorkloadName>
const wanted = values.only === undefined ? names : values.only.split(",") as ReadonlyArray<WorkloadName>
const unknown = wanted.filter((name) => !names.includes(name))
if (unknown.length > 0) {
  process.stderr.write(`There is no workload ${unknown.join(", ")}. There are ${names.join(", ")}.\n`)
  process.exit(1)
}

const results = new URL("../results/", import.meta.url)
const child = fileURLToPath(new URL("child.ts", import.meta.url))
const run = promisify(execFile)

const measure = async (workload: WorkloadName, contestant: ContestantName, size: number): Promise<Sample> => {
  const { stdout } = await run(
    process.execPath,
    ["--expose-gc", child, workload, contestant, String(size), values.quick ? "quick" : "full"],
    // Minutes are enough for the slowest; the tracing of LangChain and OpenAI is off.
    { timeout: 600_000, env: { ...process.env, LANGSMITH_TRACING: "false", OPENAI_AGENTS_DISABLE_TRACING: "1" } }
  )
  return JSON.parse(stdout.trim().split("\n").at(-1)!) as Sample
}

/** All contestants in turn, then all of them again, so that what else happens on the machine happens to all. */
const measureAll = async (name: WorkloadName): Promise<WorkloadResult> => {
  const { workload } = await workloads[name]()
  const pairs = workload.cases(values.quick).flatMap((size) =>
    workload.contestants.map((contestant) => ({ size, contestant }))
  )
  const samples = new Map<string, Array<Sample>>()
  const errors = new Map<string, string>()
  const key = (contestant: ContestantName, size: number) => `${contestant} ${size}`
  for (let round = 1; round <= workload.rounds(values.quick); round++) {
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
mkdirSync(results, { recursive: true })
for (const name of wanted) {
  const result = await measureAll(name)
  measured.push(result)
  process.stdout.write(`${section(result)}\n`)
  // After each workload, so that an interrupted run leaves what it has.
  writeFileSync(
    new URL("latest.json", results),
    JSON.stringify(
      { node: process.version, cpu: cpus()[0]?.model, cpus: cpus().length, quick: values.quick, measured },
      null,
      2
    )
  )
}
if (measured.some(({ rows }) => rows.some((row) => row.error !== undefined))) process.exitCode = 1

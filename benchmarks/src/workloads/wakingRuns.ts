import { existsSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { ContestantName } from "../Contestant.ts"
import { contestants } from "../durable/contestants.ts"
import type { Workload } from "../Workload.ts"

/** The engines by the library that they are of. */
const engines: Partial<Record<ContestantName, string>> = { recourse: "recourse", "LangChain": "langgraph" }

/** In memory if there is such a disk: other programs' writes delay each commit more than the work of an engine. */
const disk = existsSync("/dev/shm") ? "/dev/shm" : tmpdir()

const seconds = async (work: Promise<unknown>): Promise<number> => {
  const begun = performance.now()
  await work
  return (performance.now() - begun) / 1_000
}

export const workload: Workload = {
  title:
    "10,000 durable runs on SQLite (on a disk in memory) that wait for a person: started, and all decided about at once",
  contestants: Object.keys(engines) as ReadonlyArray<ContestantName>,
  cases: { full: [10_000], quick: [1_000], check: [5] },
  metrics: [{ name: "until all wait", unit: "s" }, { name: "until all have ended", unit: "s" }],
  rounds: { full: 1, quick: 1, check: 1 },
  measure: async ({ name, size }) => {
    const directory = mkdtempSync(join(disk, "recourse-bench-"))
    try {
      const open = await contestants[engines[name]!]!()
      const engine = await open({ file: join(directory, "bench.db") }, false)
      const ids = Array.from({ length: size }, (_, run) => `run ${run}`)
      const started = await seconds(engine.wait!(ids))
      const woken = await seconds(engine.wake!(ids))
      await engine.close()
      return { "until all wait": started, "until all have ended": woken }
    } finally {
      rmSync(directory, { recursive: true, force: true })
    }
  }
}

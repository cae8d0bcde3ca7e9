/**
 * `pnpm bench:compare --with <checkout> [--only W1,W3] [--seconds 5] [--rounds 4]`: this checkout and another one, in one process.
 *
 * Short batches of both run in turns, so that other work on the machine delays both. The tenth percentile of a batch is
 * compared: ratios vary by two or three per cent, also on a machine under load. Both checkouts need their packages, and
 * run the tasks of this one.
 */
import { execFileSync } from "node:child_process"
import { join, resolve } from "node:path"
import { pathToFileURL } from "node:url"
import { parseArgs } from "node:util"
import type { Contestant } from "./Contestant.ts"
import { median } from "./stats.ts"
import { call, calls, Down, type Task, text } from "./Task.ts"

const { values } = parseArgs({
  options: {
    with: { type: "string" },
    only: { type: "string", default: "W1,W3,W4,W5,W9" },
    seconds: { type: "string", default: "5" },
    rounds: { type: "string", default: "4" },
    child: { type: "boolean", default: false }
  }
})

const plain = { onFailure: "none", modelDelay: 0, execute: (n: number) => n * 2 } as const
const oneCall = [calls(call("c1", 21)), text("It is 42.")]

/** The task of a workload: each contestant has its own, because some count attempts. */
const tasks: Readonly<Record<string, () => Task>> = {
  W1: () => ({ ...plain, turns: oneCall }),
  W3: () => ({ ...plain, turns: [calls(...Array.from({ length: 50 }, (_, n) => call(`c${n}`, n))), text("Done.")] }),
  W4: () => {
    let attempts = 0
    const execute = (n: number) => {
      if (++attempts % 3 !== 0) throw new Down()
      return n * 2
    }
    return { ...plain, turns: oneCall, onFailure: "retry", execute }
  },
  W5: () => {
    const execute = (n: number) => {
      if (n < 0) throw new Down()
      return n * 2
    }
    const turns = [calls(call("c1", -1)), calls(call("c2", 21)), text("It is 42.")]
    return { ...plain, turns, onFailure: "tell", execute }
  },
  W9: () => ({ ...plain, turns: oneCall })
}

const prepared = async (workload: string, folder: string) => {
  const file = join(folder, "src/contestants", workload === "W9" ? "recourseRecovering.ts" : "recourse.ts")
  const { contestant } = await import(pathToFileURL(file).href) as { readonly contestant: Contestant }
  return contestant.prepare(tasks[workload]!())
}

/** Microseconds of a run in each folder. */
const measured = async (
  workload: string,
  folders: ReadonlyArray<string>,
  millis: number
): Promise<ReadonlyArray<number>> => {
  const runs = await Promise.all(folders.map((folder) => prepared(workload, folder)))
  const times: ReadonlyArray<Array<number>> = runs.map(() => [])
  const batch = workload === "W3" ? 2 : 16
  const start = performance.now()
  while (performance.now() < start + millis) {
    for (const [index, run] of runs.entries()) {
      const from = performance.now()
      for (let i = 0; i < batch; i++) await run()
      if (from > start + millis / 3) times[index]!.push((performance.now() - from) / batch * 1_000)
    }
  }
  return times.map((all) => all.toSorted((a, b) => a - b)[Math.floor(all.length / 10)]!)
}

const here = resolve(import.meta.dirname, "..")
const workloads = values.only.split(",")
const unknown = workloads.filter((name) => !Object.hasOwn(tasks, name))
if (values.with === undefined || unknown.length > 0) {
  process.stderr.write(`usage: --with <checkout> --only ${Object.keys(tasks).join(",")}\n`)
  process.exit(1)
}
const other = join(resolve(values.with), "benchmarks")

if (values.child) {
  process.stdout.write(JSON.stringify(await measured(workloads[0]!, [other, here], Number(values.seconds) * 1_000)))
  process.exit()
}
for (const workload of workloads) {
  const rounds = Array.from({ length: Number(values.rounds) }, () =>
    JSON.parse(execFileSync(process.execPath, [
      import.meta.filename,
      "--child",
      "--with",
      values.with!,
      "--only",
      workload,
      "--seconds",
      values.seconds
    ], { encoding: "utf8" })) as readonly [there: number, here: number])
  const ratios = rounds.map(([there, here]) => here / there)
  process.stdout.write(
    `${workload}  ${median(rounds.map(([there]) => there)).toFixed(1)} → ${
      median(rounds.map(([, here]) => here)).toFixed(1)
    } µs, ${median(ratios).toFixed(2)} times (${ratios.map((ratio) => ratio.toFixed(2)).join(", ")})\n`
  )
}

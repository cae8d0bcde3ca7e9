/** Timing inside one process. */
import { strictEqual } from "node:assert/strict"
import type { Run } from "./Contestant.ts"
import type { Times } from "./Form.ts"
import { around } from "./profile.ts"
import { median } from "./stats.ts"
import { call, calls, type Task, text, type Turn } from "./Task.ts"

/** Runs again and again: first to warm up, then timed. The median time of one run in milliseconds. */
export const timePerRun = async (run: () => Promise<void>, { atLeast, budget, warmUp }: Times): Promise<number> => {
  const warm = performance.now() + warmUp
  do await run()
  while (performance.now() < warm)
  return around.run(async () => {
    const times: Array<number> = []
    const end = performance.now() + budget
    while (times.length < atLeast || performance.now() < end) {
      const start = performance.now()
      await run()
      times.push(performance.now() - start)
    }
    return median(times)
  })
}

/** Processor time of this process in microseconds, with that of the collector and the compiler. */
const processorTime = (): number => {
  const { system, user } = process.cpuUsage()
  return system + user
}

/** Laps of a warm-up: a slow machine compiles a whole stack in some 10,000 runs. */
const laps = { least: 4, most: 8 } as const

/**
 * Runs again and again, then measures. The processor time of one run in microseconds.
 *
 * A warm-up has four laps of half its time, and continues while a lap is 3 % cheaper than the one before: the code that is
 * measured is compiled, on slow machines too.
 */
export const processorPerRun = async (
  run: () => Promise<void>,
  { atLeast, budget, warmUp }: Times
): Promise<number> => {
  const repeat = async (millis: number, least: number): Promise<number> => {
    const end = performance.now() + millis
    const before = processorTime()
    let runs = 0
    while (runs < least || performance.now() < end) {
      await run()
      runs++
    }
    return (processorTime() - before) / runs
  }
  const most = warmUp > 0 ? laps.most : 0
  let cost = Infinity
  for (let lap = 0; lap < most; lap++) {
    const before = cost
    cost = await repeat(warmUp / 2, 1)
    if (lap + 1 >= laps.least && cost > before * 0.97) break
  }
  return around.run(() => repeat(budget, atLeast))
}

/** Live memory in bytes. */
export const liveMemory = (): number => {
  if (globalThis.gc === undefined) throw new Error("node must be started with --expose-gc")
  globalThis.gc()
  globalThis.gc()
  return process.memoryUsage().heapUsed
}

/** A task whose tool counts, and a check that a number of runs did all of it. */
export const counted = (
  task: Omit<Task, "execute" | "modelDelay" | "onFailure"> & Partial<Task>,
  expected: { readonly executions: number; readonly text: string }
): { readonly task: Task; readonly checked: (run: Run, runs?: number) => () => Promise<void> } => {
  let executions = 0
  const execute = task.execute ?? ((n: number) => n * 2)
  return {
    task: {
      onFailure: "none",
      modelDelay: 0,
      ...task,
      execute: (n) => {
        executions++
        return execute(n)
      }
    },
    checked: (run, runs = 1) => async () => {
      executions = 0
      const texts = runs === 1 ? [await run()] : await Promise.all(Array.from({ length: runs }, run))
      strictEqual(executions, expected.executions * runs, "number of tool executions")
      for (const text of texts) strictEqual(text, expected.text, "final text")
    }
  }
}

/** One tool call, then a text. */
export const oneCall: ReadonlyArray<Turn> = [calls(call("c1", 21)), text("It is 42.")]

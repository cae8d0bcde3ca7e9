/** Timing inside one process. */
import { strictEqual } from "node:assert/strict"
import type { Run } from "./Contestant.ts"
import { median } from "./stats.ts"
import { call, calls, type Task, text, type Turn } from "./Task.ts"

/** Runs again and again: first to warm up, then timed. The median time of one run in milliseconds. */
export const timePerRun = async (run: () => Promise<void>, options: {
  readonly warmUp: number
  readonly budget: number
  readonly atLeast?: number
}): Promise<number> => {
  const warm = performance.now() + options.warmUp
  do await run()
  while (performance.now() < warm)
  const times: Array<number> = []
  const end = performance.now() + options.budget
  while (times.length < (options.atLeast ?? 5) || performance.now() < end) {
    const start = performance.now()
    await run()
    times.push(performance.now() - start)
  }
  return median(times)
}

export const standardTimes = (quick: boolean) => quick ? { warmUp: 200, budget: 300 } : { warmUp: 1_000, budget: 1_500 }

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

/** Runs of programs by a worker. A program that does not end is stopped together with its worker. */
import type { Broken, Program } from "../src/run/program.ts"
import type { Report } from "../src/run/report.ts"

export type Result = Broken | Report

/** Milliseconds after which a program counts as endless. The first run also loads the libraries. */
const longest = { first: 30_000, later: 8_000 }

let worker: Worker | undefined
let hasAnswered = false
let ids = 0
const waiting = new Map<number, (result: Result) => void>()

const settleAll = (problem: string): void => {
  worker?.terminate()
  worker = undefined
  hasAnswered = false
  for (const resolve of waiting.values()) resolve({ problem })
  waiting.clear()
}

const startWorker = (): Worker => {
  const started = new Worker(new URL("../src/run/worker.ts", import.meta.url), { type: "module" })
  started.addEventListener("message", ({ data: { id, result } }: MessageEvent<{ id: number; result: Result }>) => {
    hasAnswered = true
    waiting.get(id)?.(result)
    waiting.delete(id)
  })
  started.addEventListener("error", () => settleAll("The libraries of the page could not be loaded."))
  return started
}

/** Runs a program. */
export const run = (program: Program): Promise<Result> => {
  worker ??= startWorker()
  const id = ++ids
  worker.postMessage({ id, program })
  return new Promise((resolve) => {
    const timer = setTimeout(() => settleAll("The program did not end."), hasAnswered ? longest.later : longest.first)
    waiting.set(id, (result) => {
      clearTimeout(timer)
      resolve(result)
    })
  })
}

/** Runs programs in a worker, so that a program without an end does not stop the page. */
import { type Program, runProgram } from "./program.ts"

/** A request to the worker. */
export interface RunRequest {
  readonly id: number
  readonly program: Program
}

addEventListener("message", ({ data: { id, program } }: MessageEvent<RunRequest>) => {
  void runProgram(program).then((result) => postMessage({ id, result }))
})

import { Effect } from "effect"
import { spawn } from "node:child_process"

/** Runs a program in a process of its own, its output piped. */
export const run = (bin: string, ...args: ReadonlyArray<string>) =>
  Effect.promise(() =>
    new Promise<{ readonly code: number | null; readonly out: string; readonly err: string }>((resolve, reject) => {
      const child = spawn(process.execPath, [bin, ...args])
      let out = ""
      let err = ""
      child.stdout.on("data", (chunk) => {
        out += chunk
      })
      child.stderr.on("data", (chunk) => {
        err += chunk
      })
      child.on("error", reject)
      child.on("close", (code) => resolve({ code, out, err }))
    })
  )

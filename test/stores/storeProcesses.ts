/** Processes that write over one store, and leave their side effects in a file. */
import { spawn } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { bundled } from "../support/bundled.ts"
import type { Address } from "../support/connections.ts"

/** Starts a program of this folder as a process, and waits for its end. */
export const running = (env: Readonly<Record<string, string>>) => (file: string, ...args: ReadonlyArray<string>) =>
  new Promise<{ readonly exit: number | null; readonly output: string }>((resolve, reject) => {
    const child = spawn(process.execPath, [bundled(join(import.meta.dirname, file)), ...args], {
      stdio: ["ignore", "pipe", "inherit"],
      env: { ...process.env, ...env, NODE_OPTIONS: "--disable-warning=ExperimentalWarning" }
    })
    let output = ""
    child.stdout.on("data", (chunk: Buffer) => output += chunk.toString())
    child.on("error", reject)
    child.on("close", (exit) => resolve({ exit, output }))
  })

/** Runs a test at an address, with a file in which processes leave their side effects. */
export const at = async (
  open: (directory: string) => Promise<{ readonly address: Address; readonly close: () => Promise<void> }>,
  test: (address: Address, effects: string) => Promise<void>
) => {
  const directory = mkdtempSync(join(tmpdir(), "recourse-"))
  const place = await open(directory)
  const effects = join(directory, "effects.log")
  writeFileSync(effects, "")
  try {
    await test(place.address, effects)
  } finally {
    await place.close()
    rmSync(directory, { recursive: true, force: true })
  }
}

export const linesOf = (file: string): ReadonlyArray<string> => readFileSync(file, "utf8").trim().split("\n")

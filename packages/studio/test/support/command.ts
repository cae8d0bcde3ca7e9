/** The command `recourse-studio` as a process, in a folder within the package: its modules find the packages of the workspace. */
import { type ChildProcess, spawn } from "node:child_process"
import { mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { afterAll, afterEach } from "vitest"

const dist = join(import.meta.dirname, "../../dist")
const bin = join(import.meta.dirname, "../../src/bin.ts")

/** A port that no server listens on. */
export const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address() as AddressInfo
      server.close(() => resolve(port))
    })
  })

export const json = async (url: string) =>
  JSON.stringify(await (await fetch(url, { signal: AbortSignal.timeout(5000) })).json())

/** Each test file has a folder and processes of its own: files share this module. */
export const commandInFolder = () => {
  mkdirSync(dist, { recursive: true })
  const folder = mkdtempSync(join(dist, "command-test-"))
  let processes: Array<ChildProcess> = []

  /** Starts the command as a process. */
  const start = (...args: ReadonlyArray<string>) => {
    const env = { ...process.env, LLM_PRESET: "", LLM_BASE_URL: "", OPENAI_API_KEY: "" }
    const data = args.includes("--data") ? [] : ["--data", join(folder, "data")]
    const child = spawn(process.execPath, [bin, ...args, ...data], { env })
    processes.push(child)
    let said = ""
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (data: Buffer) => said += data.toString())
    const ended = new Promise<number | null>((resolve) => child.on("exit", resolve))
    return { child, ended, said: () => said }
  }

  /** Runs the command to its end. */
  const run = async (...args: ReadonlyArray<string>) => {
    const { ended, said } = start(...args)
    return { code: await ended, said: (await ended, said()) }
  }

  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  afterEach(() => {
    for (const child of processes) child.kill()
    processes = []
  })
  return { folder, run, start }
}

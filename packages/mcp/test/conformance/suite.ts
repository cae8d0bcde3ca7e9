/** Runs scenarios of the MCP conformance suite against `Mcp.layerServer` and against `Mcp.tools`. */
import { type ChildProcess, spawn } from "node:child_process"
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { createRequire } from "node:module"
import { createConnection, createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { bundled } from "../../../../test/support/bundled.ts"

/** Outcome of a scenario. */
export interface Outcome {
  readonly scenario: string
  readonly passed: number
  readonly failed: number
  readonly why: ReadonlyArray<string>
}

const cli = createRequire(import.meta.url).resolve("@modelcontextprotocol/conformance/dist/index.js")

const file = (name: string) => bundled(join(import.meta.dirname, name))

interface Check {
  readonly id: string
  readonly status: "SUCCESS" | "FAILURE" | "WARNING" | "INFO" | "SKIPPED"
  readonly errorMessage?: string
}

const run = (child: ChildProcess): Promise<string> =>
  new Promise((resolve) => {
    let out = ""
    child.stdout?.on("data", (chunk: unknown) => out += String(chunk))
    child.stderr?.on("data", (chunk: unknown) => out += String(chunk))
    child.on("close", () => resolve(out))
  })

const checksIn = (folder: string, scenario: string): ReadonlyArray<Check> => {
  const found = readdirSync(folder, { recursive: true, encoding: "utf8" }).find((name) => name.endsWith("checks.json"))
  return found === undefined
    ? [{ id: scenario, status: "FAILURE", errorMessage: "the suite gave no result" }]
    : JSON.parse(readFileSync(join(folder, found), "utf8")) as ReadonlyArray<Check>
}

const scenario = async (mode: "server" | "client", name: string, args: ReadonlyArray<string>): Promise<Outcome> => {
  const folder = mkdtempSync(join(tmpdir(), "recourse-conformance-"))
  try {
    await run(spawn(process.execPath, [cli, mode, "--scenario", name, "-o", folder, ...args]))
    const checks = checksIn(folder, name)
    const failed = checks.filter(({ status }) => status === "FAILURE")
    return {
      scenario: name,
      passed: checks.filter(({ status }) => status === "SUCCESS").length,
      failed: failed.length,
      why: failed.map(({ errorMessage, id }) => `${id}: ${errorMessage ?? ""}`)
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The scenarios that the suite has. */
export const scenarios = async (): Promise<{ readonly server: Array<string>; readonly client: Array<string> }> => {
  const out = await run(spawn(process.execPath, [cli, "list"]))
  const [server = "", client = ""] = out.split("Client scenarios")
  const names = (text: string) => [...text.matchAll(/^ {2}- (\S+)/gm)].map(([, name]) => name!)
  return { server: names(server), client: names(client) }
}

const freePort = () =>
  new Promise<number>((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const address = server.address()
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0))
    })
  })

const listening = async (port: number): Promise<void> => {
  for (let i = 0; i < 600; i++) {
    const isThere = await new Promise<boolean>((resolve) => {
      const socket = createConnection(port, "127.0.0.1", () => {
        socket.destroy()
        resolve(true)
      }).on("error", () => resolve(false))
    })
    if (isThere) return
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error("the server does not start")
}

/** Runs scenarios against `Mcp.layerServer`, one after the other. */
export const againstServer = async (names: ReadonlyArray<string>): Promise<ReadonlyArray<Outcome>> => {
  const port = await freePort()
  const server = spawn(process.execPath, [file("server.ts"), String(port)], { stdio: "ignore" })
  try {
    await listening(port)
    const outcomes: Array<Outcome> = []
    for (const name of names) {
      outcomes.push(await scenario("server", name, ["--url", `http://127.0.0.1:${port}/mcp`]))
    }
    return outcomes
  } finally {
    server.kill()
  }
}

/** Runs scenarios against `Mcp.tools`, one after the other. */
export const againstClient = async (names: ReadonlyArray<string>): Promise<ReadonlyArray<Outcome>> => {
  const outcomes: Array<Outcome> = []
  for (const name of names) {
    outcomes.push(await scenario("client", name, ["--command", `${process.execPath} ${file("client.ts")}`]))
  }
  return outcomes
}

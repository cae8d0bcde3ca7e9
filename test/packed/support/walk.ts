/** Walks through a page as its reader does: writes the files, runs the commands in their terminals, and compares the outputs. */
import { assert } from "@effect/vitest"
import { type ChildProcess, spawn } from "node:child_process"
import { mkdirSync, writeFileSync } from "node:fs"
import { createServer } from "node:net"
import { join, resolve } from "node:path"
import { patternOf, type Step } from "./page.ts"

export interface Options {
  readonly folder: string
  /** The command that is run in place of one of the page: another source of packages. Default: the command. */
  readonly substitute?: (command: string) => string
  /** Ports of the page, each in place of which a free one is used. */
  readonly ports?: ReadonlyArray<number>
  /** Runs after the last step of a heading. */
  readonly after?: Readonly<Record<string, (ports: ReadonlyMap<number, number>) => Promise<void>>>
}

const patience = 60_000

const freePort = (): Promise<number> =>
  new Promise((found) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address() as { readonly port: number }
      server.close(() => found(port))
    })
  })

// The models of whoever runs the tests are not the reader's. Colours are not part of an output.
const environment = {
  ...Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(LLM_|VITEST|NODE_ENV|FORCE_COLOR)/.test(name))
  ),
  NO_COLOR: "1",
  npm_config_audit: "false",
  npm_config_fund: "false",
  npm_config_prefer_offline: "true"
}

interface Terminal {
  readonly output: () => string
  readonly ended: Promise<number>
  readonly kill: (signal: NodeJS.Signals) => Promise<void>
}

/** Starts a command in a process group of its own. */
const start = (command: string, cwd: string): Terminal => {
  const child: ChildProcess = spawn("sh", ["-c", command], {
    cwd,
    env: environment,
    detached: true,
    stdio: ["ignore", "pipe", "pipe"]
  })
  let output = ""
  for (const stream of [child.stdout, child.stderr]) stream?.on("data", (data: Buffer) => output += data.toString())
  const ended = new Promise<number>((end) => child.once("close", (code) => end(code ?? 1)))
  const kill = async (signal: NodeJS.Signals): Promise<void> => {
    try {
      process.kill(-child.pid!, signal)
    } catch {
      // All of its processes have ended.
    }
    await ended
  }
  return { output: () => output, ended, kill }
}

/** Walks through the steps. Answers the output of the last command in each terminal; `""` is the first one. */
export const walk = async (steps: ReadonlyArray<Step>, options: Options): Promise<ReadonlyMap<string, string>> => {
  const ports = new Map<number, number>()
  for (const port of options.ports ?? []) ports.set(port, await freePort())
  const withPorts = (text: string): string =>
    [...ports].reduce((text, [from, to]) => text.replaceAll(new RegExp(`\\b${from}\\b`, "g"), String(to)), text)
  const terminals = new Map<string, Terminal>()
  const outputs = new Map<string, string>()
  let cwd = options.folder
  let commands: ReadonlyArray<string> = []

  const inFirst = async (lines: ReadonlyArray<string>): Promise<void> => {
    let output = ""
    for (const line of lines) {
      const [, folder] = /^cd (.*)$/.exec(line) ?? []
      if (folder !== undefined) cwd = resolve(cwd, folder)
      else {
        const terminal = start(withPorts(options.substitute?.(line) ?? line), cwd)
        const code = await terminal.ended
        output += terminal.output()
        assert.strictEqual(code, 0, `${line}\n${terminal.output()}`)
      }
    }
    outputs.set("", output)
  }
  const inOther = async (name: string, lines: ReadonlyArray<string>): Promise<void> => {
    await terminals.get(name)?.kill("SIGINT")
    assert.strictEqual(lines.length, 1)
    terminals.set(name, start(withPorts(options.substitute?.(lines[0]!) ?? lines[0]!), cwd))
  }
  const expect = async (name: string, lines: ReadonlyArray<string>): Promise<void> => {
    const pattern = patternOf(lines.map(withPorts))
    const output = (): string => name === "" ? outputs.get("")! : terminals.get(name)!.output()
    // A reader repeats a question to the server until the answer is there.
    const canRepeat = name === "" && commands.every((line) => line.startsWith("curl") && !line.includes("--json"))
    for (const begin = Date.now(); !pattern.test(output()) && Date.now() - begin < patience;) {
      if (name === "" && !canRepeat) break
      await new Promise((later) => setTimeout(later, 50))
      if (canRepeat) await inFirst(commands)
    }
    assert.match(output(), pattern, `the output of ${name === "" ? commands.join("\n") : name}`)
  }

  try {
    for (const [index, step] of steps.entries()) {
      if (step.kind === "file") {
        mkdirSync(cwd, { recursive: true })
        writeFileSync(join(cwd, step.name), withPorts(step.text))
      } else if (step.kind === "output") await expect(step.terminal, step.lines)
      else if (step.terminal !== "") await inOther(step.terminal, step.lines)
      else {
        commands = step.lines
        await inFirst(commands)
      }
      if (steps[index + 1]?.heading !== step.heading) await options.after?.[step.heading]?.(ports)
    }
    for (const [name, terminal] of terminals) outputs.set(name, terminal.output())
    return outputs
  } finally {
    await Promise.all([...terminals.values()].map((terminal) => terminal.kill("SIGKILL")))
  }
}

/**
 * The command `npm create @recourse`: makes a project in a new folder.
 *
 * It exits with 0 if the project was made, with 1 if the folder or Node cannot have it, and with 2 if it cannot use an argument.
 */
import { readFileSync } from "node:fs"
import { basename, relative, resolve } from "node:path"
import { type Arguments, InvalidArgument, type Manager, managers, readArguments } from "./internal/arguments.ts"
import { NoAnswer, openQuestions, type Questions, type Terminal } from "./internal/questions.ts"
import * as Project from "./Project.ts"
export type { Terminal } from "./internal/questions.ts"

/**
 * Surroundings of the command. Default of each: those of the process.
 *
 * @category models
 * @since 0.2.0
 */
export interface Surroundings {
  /** The folder in which a relative path begins. */
  readonly folder?: string
  /** Variables. `npm_config_user_agent` names the package manager. */
  readonly variables?: Readonly<Record<string, string | undefined>>
  /** The person who answers questions; `undefined` if no person is there, and each question has its default. */
  readonly terminal?: Terminal | undefined
  /** Version of Node. */
  readonly node?: string
  /** Receives the lines for the person. */
  readonly print?: (text: string) => void
  /** Receives the reason why no project was made. */
  readonly complain?: (text: string) => void
}

const help = `Makes a project with an agent, a fault and a passing test.

  npm create @recourse@latest my-agent -- --server

  --server, --no-server    a server with durable runs in SQLite. Default: no
  --model NAME             ${Project.models.join(", ")}. Default: script, which needs no key
  --package-manager NAME   ${managers.join(", ")}. Default: the one that runs this command
  --yes, -y                asks no question: each has its default
  --help, -h               prints this text
  --version, -v            prints the version
`

const version = (): string =>
  (JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as { readonly version: string })
    .version

const managerOf = (agent = ""): Manager => managers.find((manager) => agent.startsWith(`${manager}/`)) ?? "npm"

/** Returns the name of the package in a folder. Throws `InvalidArgument` if npm refuses the name. */
const nameOf = (folder: string): string => {
  const name = basename(folder)
  if (Project.isName(name)) return name
  throw new InvalidArgument(
    `"${name}" cannot be the name of a package: use lower-case letters, digits, "-", "_" and ".", such as my-agent.`
  )
}

/** Projects run their TypeScript files, which older versions of Node refuse. */
const isOldNode = (version: string): boolean => {
  const [major = 0, minor = 0] = version.split(".").map(Number)
  return major < 22 || (major === 22 && minor < 19)
}

interface Answers {
  readonly folder: string
  readonly name: string
  readonly server: boolean
  readonly model: Project.Model
}

const answersOf = async (given: Arguments, from: string, questions: Questions | undefined): Promise<Answers> => {
  if (given.folder === undefined && questions === undefined && !given.yes) {
    throw new InvalidArgument("Name the folder of the project, such as my-agent.")
  }
  const folder = resolve(from, given.folder ?? await questions?.folder() ?? "my-agent")
  const name = nameOf(folder)
  Project.checkFolder(folder)
  return {
    folder,
    name,
    server: given.server ?? await questions?.server() ?? false,
    model: given.model ?? await questions?.model() ?? "script"
  }
}

const nextSteps = ({ folder, server }: Answers, from: string, manager: Manager): string => {
  const run = (script: string): string => manager === "npm" ? `npm run ${script}` : `${manager} run ${script}`
  const path = relative(from, folder)
  const steps = [
    ...(path === "" ? [] : [[`cd ${path}`, ""]]),
    [`${manager} install`, ""],
    [manager === "bun" ? "bun run test" : `${manager} test`, "a tool fails, and the agent recovers"],
    [manager === "bun" ? "bun run start" : `${manager} start`, "one run, with its timeline"],
    [run("studio"), "a chat and a studio in the browser"],
    ...(server ? [[run("serve"), "durable runs over HTTP"]] : [])
  ]
  return steps.map(([command = "", purpose = ""]) => `  ${command.padEnd(18)}  ${purpose}`.trimEnd()).join("\n")
}

/**
 * Runs the command with arguments, and returns its exit code.
 *
 * **Example** (A flag that does not exist)
 *
 * ```ts
 * import { CreateCommand } from "@recourse/create"
 *
 * const lines: Array<string> = []
 *
 * await CreateCommand.run(["my-agent", "--model", "abacus"], { complain: (line) => lines.push(line) }) // => 2
 * lines[0] // => "--model is one of script, ollama, openai, not \"abacus\". `--help` lists the flags.\n"
 * ```
 *
 * @category commands
 * @since 0.2.0
 */
export const run = async (args: ReadonlyArray<string>, surroundings: Surroundings = {}): Promise<number> => {
  const {
    complain = (text: string) => void process.stderr.write(text),
    folder: from = process.cwd(),
    node = process.versions.node,
    print = (text: string) => void process.stdout.write(text),
    variables = process.env
  } = surroundings
  const { stdin: input, stdout: output } = process
  const terminal = "terminal" in surroundings
    ? surroundings.terminal
    : input.isTTY && output.isTTY
    ? { input, output }
    : undefined
  let questions: Questions | undefined
  try {
    const given = readArguments(args)
    if (given.help || given.version) {
      print(given.help ? help : `${version()}\n`)
      return 0
    }
    if (isOldNode(node)) {
      complain(`A project needs Node 22.19 or newer, and this is Node ${node}.\n`)
      return 1
    }
    if (terminal !== undefined && !given.yes) questions = openQuestions(terminal)
    const answers = await answersOf(given, from, questions)
    Project.write(answers.folder, answers)
    const manager = given.manager ?? managerOf(variables["npm_config_user_agent"])
    print(`\n${answers.name} is in ${answers.folder}. Next:\n\n${nextSteps(answers, from, manager)}\n\n`)
    return 0
  } catch (error) {
    if (error instanceof InvalidArgument) complain(`${error.message} \`--help\` lists the flags.\n`)
    else if (error instanceof Project.FolderNotEmpty || error instanceof NoAnswer) complain(`${error.message}\n`)
    else if (error instanceof Error && "syscall" in error) complain(`${error.message}\n`)
    else throw error
    return error instanceof InvalidArgument ? 2 : 1
  } finally {
    questions?.close()
  }
}

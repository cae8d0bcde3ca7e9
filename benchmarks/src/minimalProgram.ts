/** Minimal programs of `minimal`, in their deployed forms: with installed packages, and in one file. */
import { build } from "esbuild"
import { execFileSync } from "node:child_process"
import { copyFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { installPackedCore } from "../../scripts/packedCore.ts"
import type { ContestantName } from "./Contestant.ts"

const benchmarks = fileURLToPath(new URL("..", import.meta.url))

/** The program of each contestant, and its packages. */
export const programs: Partial<
  Record<ContestantName, { readonly file: string; readonly packages: ReadonlyArray<string> }>
> = {
  "floor": { file: "floor", packages: ["zod"] },
  "effect/ai": { file: "effectAi", packages: ["effect"] },
  recourse: { file: "recourse", packages: ["@recourse/core"] },
  "AI SDK": { file: "aiSdk", packages: ["ai", "zod"] },
  "OpenAI Agents": { file: "openaiAgents", packages: ["@openai/agents", "zod"] },
  "LangChain": { file: "langchain", packages: ["langchain", "@langchain/core", "zod"] }
}

/** Some packages of a bundle still ask for Node's own modules by `require`. */
const withRequire = {
  js: "import{createRequire as __createRequire}from'node:module';const require=__createRequire(import.meta.url);"
}

/** Everything in one file, the deployed form. */
const bundle = async (entry: string, outfile: string): Promise<void> => {
  await build({
    entryPoints: [entry],
    outfile,
    bundle: true,
    minify: true,
    format: "esm",
    platform: "node",
    target: "node24",
    logLevel: "error",
    banner: withRequire
  })
}

/** The program alone, its packages as they are installed. */
const compile = async (entry: string, outfile: string): Promise<void> => {
  await build({
    entryPoints: [entry],
    outfile,
    bundle: true,
    format: "esm",
    platform: "node",
    packages: "external"
  })
}

export interface MinimalProgram {
  /** The program alone: Node.js loads its packages. */
  readonly module: string
  /** The program with its packages. */
  readonly bundle: string
}

/** Writes the program of a contestant. */
export const writeProgram = async (name: ContestantName): Promise<MinimalProgram> => {
  const file = programs[name]?.file
  if (file === undefined) throw new Error(`${name} has no minimal program`)
  // In this workspace `@recourse/core` is its sources. An application gets the package, and its program is next to it.
  const folder = name === "recourse" ? await installPackedCore() : undefined
  const source = join(benchmarks, "src", "minimal", `${file}.ts`)
  const entry = folder === undefined ? source : join(folder, `${file}.ts`)
  if (entry !== source) copyFileSync(source, entry)
  const output = (ending: string) => join(folder ?? join(benchmarks, "results", "minimal"), `${file}.${ending}`)
  const program = { module: output("mjs"), bundle: output("bundle.mjs") }
  await compile(entry, program.module)
  await bundle(entry, program.bundle)
  return program
}

export interface ImportTime {
  readonly wall: number
  readonly processor: number
}

/** Milliseconds until a fresh process has loaded a module and all that it imports. */
export const importTime = (file: string, options: ReadonlyArray<string> = []): ImportTime => {
  const program = `const start = performance.now()
const before = process.cpuUsage()
await import(${JSON.stringify(pathToFileURL(file).href)})
const wall = performance.now() - start
const { system, user } = process.cpuUsage(before)
process.stdout.write(JSON.stringify({ wall, processor: (system + user) / 1000 }))
process.exit()`
  return JSON.parse(
    execFileSync(process.execPath, [...options, "--input-type=module", "--eval", program], { encoding: "utf8" })
  ) as ImportTime
}

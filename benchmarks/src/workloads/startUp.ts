/** What a minimal agent costs before it runs: the programs of `../minimal`. */
import { build, type Plugin } from "esbuild"
import { execFileSync } from "node:child_process"
import { existsSync, readFileSync, realpathSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { gzipSync } from "node:zlib"
import type { ContestantName } from "../Contestant.ts"
import { median } from "../stats.ts"
import type { Workload } from "../Workload.ts"

const benchmarks = fileURLToPath(new URL("../..", import.meta.url))

/** The program of each contestant, and what it takes to install it. */
const programs: Partial<Record<ContestantName, { readonly file: string; readonly packages: ReadonlyArray<string> }>> = {
  "floor": { file: "floor", packages: ["zod"] },
  "effect/ai": { file: "effectAi", packages: ["effect"] },
  recourse: { file: "recourse", packages: ["@recourse/core"] },
  "AI SDK": { file: "aiSdk", packages: ["ai", "zod"] },
  "OpenAI Agents": { file: "openaiAgents", packages: ["@openai/agents", "zod"] },
  "LangChain": { file: "langchain", packages: ["langchain", "@langchain/core", "zod"] }
}

/** In this workspace `@recourse/core` is its sources; an application gets what is built of them. */
const asPublished = (external: boolean): Plugin => ({
  name: "as published",
  setup: (build) => {
    build.onResolve({ filter: /^@recourse\/core(\/|$)/ }, ({ path }) => ({
      path: join(benchmarks, "../packages/core/dist", `${path.split("/")[2] ?? "index"}.js`),
      external
    }))
  }
})

/** Some packages of a bundle still ask for Node's own modules by `require`. */
const withRequire = {
  js: "import{createRequire as __createRequire}from'node:module';const require=__createRequire(import.meta.url);"
}

/** Everything in one file, as it is deployed. */
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
    banner: withRequire,
    plugins: [asPublished(false)]
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
    packages: "external",
    plugins: [asPublished(true)]
  })
}

/** Milliseconds until a fresh process has loaded a module and all that it imports. */
const importTime = (file: string, times: number): number => {
  const program = `const start = performance.now()
await import(${JSON.stringify(pathToFileURL(file).href)})
process.stdout.write(String(performance.now() - start))
process.exit()`
  const load = () => Number(execFileSync(process.execPath, ["--input-type=module", "--eval", program]))
  load()
  return median(Array.from({ length: times }, load))
}

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>
}

const locate = (name: string, from: string): string | undefined => {
  for (let folder = from; folder !== dirname(folder); folder = dirname(folder)) {
    const found = join(folder, "node_modules", name)
    if (existsSync(found)) return realpathSync(found)
  }
  return undefined
}

/** Packages that come with an installation: dependencies and needed peers, all the way down. */
const installedPackages = (names: ReadonlyArray<string>): number => {
  const found = new Set<string>()
  const visit = (name: string, from: string, needed: boolean): void => {
    const folder = locate(name, from)
    if (folder === undefined) {
      if (needed) throw new Error(`${name}, needed by ${from}, is not installed`)
      return
    }
    if (found.has(folder)) return
    found.add(folder)
    const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest
    for (const dependency of Object.keys(manifest.dependencies ?? {})) {
      visit(dependency, folder, manifest.optionalDependencies?.[dependency] === undefined)
    }
    for (const dependency of Object.keys(manifest.optionalDependencies ?? {})) visit(dependency, folder, false)
    for (const peer of Object.keys(manifest.peerDependencies ?? {})) {
      if (manifest.peerDependenciesMeta?.[peer]?.optional !== true) visit(peer, folder, true)
    }
  }
  for (const name of names) visit(name, benchmarks, true)
  return found.size
}

export const workload: Workload = {
  title: "A minimal agent before it runs",
  contestants: Object.keys(programs) as ReadonlyArray<ContestantName>,
  cases: () => [1],
  metrics: [
    { name: "import", unit: "ms" },
    { name: "bundled import", unit: "ms" },
    { name: "bundle", unit: "KiB min+gzip" },
    { name: "packages", unit: "" }
  ],
  rounds: (quick) => quick ? 1 : 3,
  measure: async ({ name, quick }) => {
    const program = programs[name]
    if (program === undefined) throw new Error(`${name} has no minimal program`)
    const entry = join(benchmarks, "src", "minimal", `${program.file}.ts`)
    const output = (ending: string) => join(benchmarks, "results", "minimal", `${program.file}.${ending}`)
    await compile(entry, output("mjs"))
    await bundle(entry, output("bundle.mjs"))
    const times = quick ? 3 : 7
    return {
      "import": importTime(output("mjs"), times),
      "bundled import": importTime(output("bundle.mjs"), times),
      "bundle": gzipSync(readFileSync(output("bundle.mjs")), { level: 9 }).length / 1024,
      "packages": installedPackages(program.packages)
    }
  }
}

/** Cost of a minimal agent before it runs: the programs of `../minimal`. */
import { existsSync, readFileSync, realpathSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { gzipSync } from "node:zlib"
import type { ContestantName } from "../Contestant.ts"
import { importTime, programs, writeProgram } from "../minimalProgram.ts"
import { median } from "../stats.ts"
import { always, type Workload } from "../Workload.ts"

const benchmarks = fileURLToPath(new URL("../..", import.meta.url))

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
  cases: always([1]),
  metrics: [
    { name: "import", unit: "ms" },
    { name: "bundled import", unit: "ms" },
    { name: "bundle", unit: "KiB min+gzip" },
    { name: "packages", unit: "" }
  ],
  rounds: { full: 1, quick: 1, check: 1 },
  measure: async ({ form, name }) => {
    const { bundle, module } = await writeProgram(name)
    const times = { full: 7, quick: 3, check: 1 }[form]
    const medianTime = (file: string): number => {
      if (form !== "check") importTime(file)
      return median(Array.from({ length: times }, () => importTime(file).wall))
    }
    return {
      "import": medianTime(module),
      "bundled import": medianTime(bundle),
      "bundle": gzipSync(readFileSync(bundle), { level: 9 }).length / 1024,
      "packages": installedPackages(programs[name]!.packages)
    }
  }
}

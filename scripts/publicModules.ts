/** Public modules of a package: those of its `src` that `exports` does not close. */
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"

const packages = join(import.meta.dirname, "../packages")

/** Returns the names of the public modules of a package's folder, sorted: `Agent`, `index`. */
export const publicModules = (folder: string): ReadonlyArray<string> => {
  const { exports } = JSON.parse(readFileSync(join(packages, folder, "package.json"), "utf8")) as {
    readonly exports: Readonly<Record<string, unknown>>
  }
  return readdirSync(join(packages, folder, "src"))
    .filter((file) => file.endsWith(".ts"))
    .map((file) => file.slice(0, -".ts".length))
    .filter((module) => exports[`./${module}`] !== null)
    .toSorted()
}

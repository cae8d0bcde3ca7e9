/** Compiler's cost of a program's types. */
import { spawnSync } from "node:child_process"
import { mkdirSync, rmSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"

const tsc = join(dirname(createRequire(import.meta.url).resolve("typescript/package.json")), "bin/tsc")

export interface TypeCost {
  readonly instantiations: number
  /** The time of the check in seconds, without reading and binding. */
  readonly seconds: number
}

/** Compiles a program in a folder, which is deleted behind it. Throws if it does not compile. */
export const compile = (folder: string, source: string, tsconfig: object): TypeCost => {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ ...tsconfig, files: ["./program.ts"] }))
  writeFileSync(join(folder, "program.ts"), source)
  const { stdout } = spawnSync(process.execPath, [tsc, "-p", folder, "--extendedDiagnostics", "--singleThreaded"], {
    encoding: "utf8"
  })
  rmSync(folder, { recursive: true, force: true })
  const read = (name: string) => Number(new RegExp(`^${name}:\\s+([\\d.]+)`, "m").exec(stdout)?.[1])
  const cost = { instantiations: read("Instantiations"), seconds: read("Check time") }
  if (/error TS/.test(stdout) || Object.values(cost).some(Number.isNaN)) throw new Error(stdout.slice(0, 4000))
  return cost
}

/** Compiles programs in one go, and reads the compiler's messages. */
import { spawnSync } from "node:child_process"
import { mkdirSync, rmSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { referencesFrom } from "../support/declarations.ts"

const tsc = join(dirname(createRequire(import.meta.url).resolve("typescript/package.json")), "bin/tsc")

const configuration = {
  extends: "../../../../tsconfig.base.json",
  compilerOptions: {
    noEmit: true,
    declaration: false,
    noErrorTruncation: true,
    noUnusedLocals: false,
    noUnusedParameters: false
  },
  include: ["./*.ts"]
}

/** Where the programs of a name are written. */
export const folderOf = (name: string): string => join(import.meta.dirname, ".generated", name)

/** Removes the files of {@link messages}. */
export const clean = (name: string): void => rmSync(folderOf(name), { recursive: true, force: true })

/**
 * The compiler's messages for each program, in the order of the programs. `types` are their ambient types; `manifest`
 * is the package.json of their folder, by default the repository's.
 */
export const messages = (
  name: string,
  programs: ReadonlyArray<string>,
  types: ReadonlyArray<string> = [],
  manifest?: object
): ReadonlyArray<ReadonlyArray<string>> => {
  clean(name)
  const folder = folderOf(name)
  mkdirSync(folder, { recursive: true })
  writeFileSync(
    join(folder, "tsconfig.json"),
    JSON.stringify({
      ...configuration,
      compilerOptions: { ...configuration.compilerOptions, types },
      references: referencesFrom(folder)
    })
  )
  if (manifest !== undefined) writeFileSync(join(folder, "package.json"), JSON.stringify(manifest))
  programs.forEach((source, index) => writeFileSync(join(folder, `p${index}.ts`), source))
  const { stderr, stdout } = spawnSync(process.execPath, [tsc, "-b", folder, "--pretty", "false", "--singleThreaded"], {
    cwd: folder,
    encoding: "utf8",
    maxBuffer: 1 << 28
  })
  const found = programs.map((): Array<string> => [])
  let current: Array<string> | undefined
  for (const line of stdout.split("\n")) {
    const [, file, message] = /^(\S+)\(\d+,\d+\): error (.*)$/.exec(line) ?? []
    if (message === undefined) {
      if (current !== undefined) current[current.length - 1] += `\n${line}`
      continue
    }
    const index = /^p(\d+)\.ts$/.exec(file!)?.[1]
    if (index === undefined) throw new Error(`The library does not compile: ${line}`)
    current = found[Number(index)]!
    current.push(message)
  }
  if (stderr !== "" || /^error /m.test(stdout)) throw new Error(`The compiler could not run: ${stderr}${stdout}`)
  return found.map((all) => all.map((message) => message.trimEnd()))
}

/** Compiles programs in one go, and reads from the compiler's messages what their types declare. */
import { spawnSync } from "node:child_process"
import { mkdirSync, rmSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import type { Program } from "./grammar/program.ts"

export interface Declared {
  readonly run: ReadonlyArray<string>
  readonly runNeeds: ReadonlyArray<string>
  readonly start: ReadonlyArray<string>
  readonly startNeeds: ReadonlyArray<string>
  readonly resume: ReadonlyArray<string>
  readonly resumeNeeds: ReadonlyArray<string>
}

/** A program that was compiled: what its type says, or why the compiler refused it. */
export type Compiled =
  & { readonly file: string; readonly program: Program }
  & (
    | { readonly declared: Declared }
    | { readonly refused: ReadonlyArray<string> }
  )

const here = import.meta.dirname
const tsc = join(dirname(createRequire(import.meta.url).resolve("typescript/package.json")), "bin/tsc")

const configuration = {
  extends: "../../../tsconfig.base.json",
  compilerOptions: {
    noEmit: true,
    declaration: false,
    noErrorTruncation: true,
    noUnusedLocals: false,
    noUnusedParameters: false,
    types: []
  },
  include: ["./*.ts"]
}

const membersOf = (message: string): Declared => {
  const read = (member: string): ReadonlyArray<string> => {
    const type = new RegExp(`readonly ${member}: ([^;]*);`).exec(message)?.[1]
    if (type === undefined) throw new Error(`The compiler's message does not hold "${member}": ${message}`)
    return [...type.matchAll(/"([^"]+)"/g)].map(([, name]) => name!)
  }
  return {
    run: read("run"),
    runNeeds: read("runNeeds"),
    start: read("start"),
    startNeeds: read("startNeeds"),
    resume: read("resume"),
    resumeNeeds: read("resumeNeeds")
  }
}

/** Removes what {@link compile} wrote. */
export const clean = (): void => rmSync(join(here, ".generated"), { recursive: true, force: true })

export const compile = (programs: ReadonlyArray<Program>): ReadonlyArray<Compiled> => {
  clean()
  const folder = join(here, ".generated")
  mkdirSync(folder)
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(configuration))
  programs.forEach(({ source }, index) => writeFileSync(join(folder, `p${index}.ts`), source))
  const { stderr, stdout } = spawnSync(process.execPath, [tsc, "-p", folder, "--pretty", "false"], {
    cwd: folder,
    encoding: "utf8",
    maxBuffer: 1 << 28
  })
  const messages = new Map<string, Array<string>>()
  let current: Array<string> | undefined
  for (const line of stdout.split("\n")) {
    const [, file, message] = /^(\S+\.ts)\(\d+,\d+\): error (.*)$/.exec(line) ?? []
    if (file === undefined) {
      if (current !== undefined) current[current.length - 1] += `\n${line}`
      continue
    }
    messages.set(file, current = messages.get(file) ?? [])
    current.push(message!)
  }
  const elsewhere = [...messages.keys()].filter((file) => !/^p\d+\.ts$/.test(file))
  if (elsewhere.length > 0 || messages.size === 0) {
    throw new Error(`The compiler could not read the programs: ${stderr}${stdout.slice(0, 4000)}`)
  }
  return programs.map((program, index): Compiled => {
    const found = messages.get(`p${index}.ts`) ?? []
    const declared = found.find((message) => message.includes("readonly resumeNeeds:"))
    const refused = found.filter((message) => message !== declared)
    const file = join(folder, `p${index}.ts`)
    return refused.length > 0 || declared === undefined
      ? { file, program, refused }
      : { file, program, declared: membersOf(declared) }
  })
}

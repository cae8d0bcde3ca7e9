/** Compiles every program by the repository's compiler, and reads its answers: the errors of the agent, or why it does not compile. */
import { spawnSync } from "node:child_process"
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { dirname, join, relative } from "node:path"
import { type Declared, nameOf, tools } from "./choice.ts"
import { agentFile, worldFile } from "./program.ts"

/** The compiler's answer about a program. */
export type Compiled =
  | { readonly errors: ReadonlyArray<string>; readonly services: ReadonlyArray<string> }
  | { readonly messages: ReadonlyArray<string> }

const root = join(import.meta.dirname, "../../..")
const tsc = join(dirname(createRequire(import.meta.url).resolve("typescript/package.json")), "bin/tsc")

const packages = ["core", "json-repair", "testing"]

const configuration = (folder: string) => ({
  extends: relative(folder, join(root, "tsconfig.base.json")),
  compilerOptions: {
    rootDir: relative(folder, root),
    outDir: "./types",
    emitDeclarationOnly: true,
    sourceMap: false,
    noErrorTruncation: true
  },
  include: ["./*/*.ts"],
  references: packages.map((name) => ({ path: relative(folder, join(root, "packages", name)) }))
})

/** Splits a type at its outer separators. */
const splitType = (type: string, separator: string): ReadonlyArray<string> => {
  const parts: Array<string> = []
  let depth = 0
  let part = ""
  for (const character of type) {
    if ("<({[".includes(character)) depth++
    if (">)}]".includes(character)) depth--
    if (depth === 0 && character === separator) {
      parts.push(part.trim())
      part = ""
    } else part += character
  }
  return [...parts, part.trim()]
}

const membersOf = (union: string): ReadonlyArray<string> => splitType(union, "|").filter((name) => name !== "never")

/** Reads the declaration of the agent: `Agent.ModelAgent<In, Out, Errors, Services, Pause, …>`. */
const readDeclaration = (declaration: string): Compiled => {
  const [, type] = /agent: Agent\.ModelAgent<([^]*)>;/.exec(declaration) ?? []
  if (type === undefined) throw new Error(`The declaration of the agent is another one: ${declaration}`)
  const names = type.replaceAll(/import\("[^"]*"\)\./g, "")
  const [, , errors = "never", services = "never", pause = "never"] = splitType(names, ",")
  return { errors: [...membersOf(errors), ...membersOf(pause)].toSorted(), services: membersOf(services) }
}

/** Builds the declarations of the packages that programs import. It takes a second if they are built. */
export const buildPackages = (): void => {
  const folders = packages.map((name) => join(root, "packages", name))
  const { status, stderr, stdout } = spawnSync(process.execPath, [tsc, "-b", ...folders, "--singleThreaded"], {
    encoding: "utf8"
  })
  if (status !== 0) throw new Error(`The packages do not compile: ${stderr}${stdout}`)
}

/** Compiles programs in one run of the compiler. `folder` receives the files. The packages have to be built. */
export const compile = (programs: ReadonlyArray<Declared>, folder: string): Readonly<Record<string, Compiled>> => {
  rmSync(folder, { recursive: true, force: true })
  for (const tool of tools) {
    mkdirSync(join(folder, tool), { recursive: true })
    writeFileSync(join(folder, tool, "world.ts"), worldFile({ tool, fault: "none", often: "once" }))
  }
  const fileOf = (program: Declared) => `${program.tool}/${nameOf(program)}`
  for (const program of programs) writeFileSync(join(folder, `${fileOf(program)}.ts`), agentFile(program))
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(configuration(folder)))
  const { stderr, stdout } = spawnSync(process.execPath, [tsc, "-p", folder, "--pretty", "false", "--singleThreaded"], {
    cwd: folder,
    encoding: "utf8",
    maxBuffer: 1 << 28
  })
  const messages = Map.groupBy(
    [...stdout.matchAll(/^(\S+)\.ts\(\d+,\d+\): error TS\d+: (.*(?:\n +.*)*)/gm)],
    ([, file]) => file!
  )
  if (stderr !== "" || (stdout !== "" && messages.size === 0)) throw new Error(`tsc could not run: ${stderr}${stdout}`)
  const others = [...messages].filter(([file]) => file.endsWith("/world"))
  if (others.length > 0) throw new Error(`The world does not compile: ${stdout}`)
  return Object.fromEntries(programs.map((program) => {
    const found = messages.get(fileOf(program))?.map(([, , message]) => message!)
    const declaration = join(folder, "types", relative(root, folder), `${fileOf(program)}.d.ts`)
    return [
      nameOf(program),
      found === undefined ? readDeclaration(readFileSync(declaration, "utf8")) : { messages: found }
    ]
  }))
}

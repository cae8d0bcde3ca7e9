/** Reads the declared types of random programs from the compiler's messages. */
import { join } from "node:path"
import { folderOf, messages } from "./compiler.ts"
import type { Program } from "./grammar/program.ts"

const members = ["run", "runNeeds", "start", "startNeeds", "resume", "resumeNeeds"] as const

/** Names of the errors that the ways to use a program can fail with, and keys of the services that they need. */
export type Declared = { readonly [_ in typeof members[number]]: ReadonlyArray<string> }

/** A compiled program: its type, or the compiler's reason to refuse it. */
export type Compiled =
  & { readonly file: string; readonly program: Program }
  & (
    | { readonly declared: Declared }
    | { readonly refused: ReadonlyArray<string> }
  )

/** The message about `export const types: 0 = declared(program)` contains the answer of `declared`. */
const read = (message: string): Declared =>
  Object.fromEntries(members.map((member) => {
    const type = new RegExp(`readonly ${member}: ([^;]*);`).exec(message)?.[1]
    if (type === undefined) throw new Error(`The compiler's message does not hold "${member}": ${message}`)
    return [member, [...type.matchAll(/"([^"]+)"/g)].map(([, name]) => name)]
  })) as never

export const compile = (programs: ReadonlyArray<Program>): ReadonlyArray<Compiled> =>
  messages("programs", programs.map(({ source }) => source)).map((found, index): Compiled => {
    const declared = found.find((message) => message.includes("readonly resumeNeeds:"))
    const refused = found.filter((message) => message !== declared)
    const file = join(folderOf("programs"), `p${index}.ts`)
    const program = programs[index]!
    return refused.length > 0 || declared === undefined
      ? { file, program, refused }
      : { file, program, declared: read(declared) }
  })

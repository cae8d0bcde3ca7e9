/** Arguments of the command: flags and the name of the folder. */
import { parseArgs } from "node:util"
import { type Model, models } from "./options.ts"

/** Package managers, the commands of which are printed at the end. */
export const managers = ["npm", "pnpm", "bun"] as const

/** A package manager. */
export type Manager = (typeof managers)[number]

/** Arguments. An undefined one is a question, unless `yes` is true. */
export interface Arguments {
  readonly folder: string | undefined
  readonly server: boolean | undefined
  readonly model: Model | undefined
  readonly manager: Manager | undefined
  readonly yes: boolean
  readonly help: boolean
  readonly version: boolean
}

/** The command cannot use an argument. */
export class InvalidArgument extends Error {
  readonly _tag = "InvalidArgument"
}

const oneOf = <const A extends string>(flag: string, value: string | undefined, values: ReadonlyArray<A>) => {
  const found = values.find((known) => known === value)
  if (value !== undefined && found === undefined) {
    throw new InvalidArgument(`--${flag} is one of ${values.join(", ")}, not "${value}".`)
  }
  return found
}

const options = {
  server: { type: "boolean" },
  model: { type: "string" },
  "package-manager": { type: "string" },
  yes: { type: "boolean", short: "y" },
  help: { type: "boolean", short: "h" },
  version: { type: "boolean", short: "v" }
} as const

/** Throws `InvalidArgument` for a flag that does not exist, and for one with a value of another type than its own. */
const check = (flag: string, value: unknown): void => {
  if (!Object.hasOwn(options, flag)) throw new InvalidArgument(`There is no flag --${flag}.`)
  const { type } = options[flag as keyof typeof options]
  if (type === "string" && (typeof value !== "string" || value === "")) {
    throw new InvalidArgument(`--${flag} needs a value.`)
  }
  if (type === "boolean" && typeof value !== "boolean") throw new InvalidArgument(`--${flag} has no value.`)
}

const parse = (args: ReadonlyArray<string>) => {
  const parsed = parseArgs({ args: [...args], options, allowNegative: true, allowPositionals: true, strict: false })
  for (const [flag, value] of Object.entries(parsed.values)) check(flag, value)
  return parsed
}

const text = (value: string | boolean | undefined): string | undefined => typeof value === "string" ? value : undefined

/** Reads arguments. Throws `InvalidArgument` for an unknown flag or value, and for a second folder. */
export const readArguments = (args: ReadonlyArray<string>): Arguments => {
  const { positionals, values } = parse(args)
  if (positionals.length > 1) {
    throw new InvalidArgument(`One folder is made, and these are ${positionals.length}: ${positionals.join(" ")}.`)
  }
  return {
    folder: positionals[0],
    server: values.server === undefined ? undefined : values.server === true,
    model: oneOf("model", text(values.model), models),
    manager: oneOf("package-manager", text(values["package-manager"]), managers),
    yes: values.yes === true,
    help: values.help === true,
    version: values.version === true
  }
}

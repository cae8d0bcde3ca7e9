/** A new project: its files, made from the template of this package, and the folder that receives them. */
import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { environment, exampleEnvironment } from "./internal/environment.ts"
import type { Options } from "./internal/options.ts"
import { filesOf } from "./internal/template.ts"

export { type Model, models, type Options } from "./internal/options.ts"

/**
 * The folder has files already.
 *
 * @category errors
 * @since 0.2.0
 */
export class FolderNotEmpty extends Error {
  readonly _tag = "FolderNotEmpty"
  readonly folder: string

  constructor(folder: string) {
    super(`The folder ${folder} is not empty. Name another one, or empty it.`)
    this.folder = folder
  }
}

/**
 * True if npm accepts the text as the name of a new package.
 *
 * @category predicates
 * @since 0.2.0
 */
export const isName = (name: string): boolean =>
  /^(?:@[a-z0-9~-][a-z0-9._~-]*\/)?[a-z0-9~-][a-z0-9._~-]*$/.test(name) && name.length <= 214 &&
  name !== "node_modules" && name !== "favicon.ico"

/**
 * Returns the files of a project: paths with `/`, and their texts. `.env` has new secrets at each call.
 *
 * **Example** (Files of a project without a server)
 *
 * ```ts
 * import { Project } from "@recourse/create"
 *
 * const project = Project.files({ name: "my-agent", server: false, model: "script" })
 *
 * project.has("src/agents.ts") // => true
 * project.has("src/server.ts") // => false
 * ```
 *
 * @category getters
 * @since 0.2.0
 */
export const files = (options: Options): ReadonlyMap<string, string> =>
  new Map([
    ...filesOf(options),
    [".env.example", exampleEnvironment(options)],
    [".env", environment(options)]
  ])

/**
 * Throws `FolderNotEmpty` if a folder has entries other than `.git` and `.npmrc`. It need not exist.
 *
 * @category running
 * @since 0.2.0
 */
export const checkFolder = (folder: string): void => {
  const entries = existsSync(folder) && statSync(folder).isDirectory() ? readdirSync(folder) : []
  if (entries.some((name) => name !== ".git" && name !== ".npmrc")) throw new FolderNotEmpty(folder)
}

/**
 * Writes the files of a project into a folder, which is made if it does not exist. Throws `FolderNotEmpty` if the folder
 * has files, and Node's error if a file cannot be written.
 *
 * @category running
 * @since 0.2.0
 */
export const write = (folder: string, options: Options): void => {
  checkFolder(folder)
  for (const [path, text] of files(options)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
}

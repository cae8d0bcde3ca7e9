/** Declarations of the packages, for programs that a test or a script compiles. */
import { readFileSync } from "node:fs"
import { join, relative } from "node:path"

const root = join(import.meta.dirname, "../..")

const { references } = JSON.parse(readFileSync(join(root, "tsconfig.json"), "utf8")) as {
  readonly references: ReadonlyArray<{ readonly path: string }>
}

/**
 * The `references` of a `tsconfig.json` in a folder: `tsc -b` reads the declarations of the packages, as the program of a user
 * does, in a tenth of the time of their sources. It makes those that are missing or old.
 */
export const referencesFrom = (folder: string): ReadonlyArray<{ readonly path: string }> =>
  references.map(({ path }) => ({ path: relative(folder, join(root, path)) }))

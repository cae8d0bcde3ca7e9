/**
 * Modules that hold the version of their package, because a bundle has no `package.json`: `src/internal/version.ts`.
 * `pnpm run version` writes them behind `changeset version`.
 */
import { existsSync, globSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { manifestIn } from "./packedPackage.ts"

export const versionModule = "src/internal/version.ts"

/** Returns the text of the module. */
export const textOfVersion = (version: string): string =>
  `/** Version of the package, for the other side of a connection. \`pnpm run version\` writes it: a bundle has no \`package.json\`. */
export const version = "${version}"
`

/** Writes the module of each package of a workspace that has one. */
export const writeVersions = (root: string): void => {
  for (const folder of globSync("packages/*", { cwd: root })) {
    const at = join(root, folder)
    const file = join(at, versionModule)
    if (existsSync(file)) writeFileSync(file, textOfVersion(manifestIn(at).version))
  }
}

if (import.meta.main) writeVersions(join(import.meta.dirname, "../.."))

/** The packages of the workspace, and their archives as npm would have them. */
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { publicModules } from "../../../scripts/publicModules.ts"

export const root = join(import.meta.dirname, "../../..")

interface Manifest {
  readonly name: string
  readonly private?: boolean
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>
}

export const manifestOf = (folder: string): Manifest =>
  JSON.parse(readFileSync(join(root, "packages", folder, "package.json"), "utf8")) as Manifest

/** The folders of the packages that are published. */
export const folders = readdirSync(join(root, "packages")).filter((folder) => manifestOf(folder).private !== true)

/** The public modules of a package, imported like in programs. Commands run when they are loaded. */
export const modulesOf = (folder: string): ReadonlyArray<string> =>
  publicModules(folder)
    .filter((module) => !/bin$/i.test(module))
    .map((module) => module === "index" ? manifestOf(folder).name : `${manifestOf(folder).name}/${module}`)

/** `name` of a package to the optional peers that its manifest declares. */
export const optionalPeersOf = (folder: string): ReadonlyArray<string> =>
  Object.entries(manifestOf(folder).peerDependenciesMeta ?? {})
    .flatMap(([peer, { optional }]) => optional === true ? [peer] : [])

export { run } from "../../../scripts/release/command.ts"

/** The archive of a package, in the folder of `pnpm archives`. */
export const archiveOf = (archives: string, name: string): string =>
  join(archives, `${name.replace("@", "").replace("/", "-")}.tgz`)

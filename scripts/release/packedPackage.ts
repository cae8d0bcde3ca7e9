/** A packed package: its archive, and the files in it. */
import { mkdirSync, readdirSync, readFileSync, statSync } from "node:fs"
import { basename, join, relative } from "node:path"
import { run } from "./command.ts"

export interface Manifest {
  readonly name: string
  readonly version: string
  readonly private?: boolean
  readonly license?: string
  readonly repository?: { readonly url?: string; readonly directory?: string }
  readonly publishConfig?: { readonly access?: string; readonly provenance?: boolean }
  readonly scripts?: Readonly<Record<string, string>>
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>
  readonly devDependencies?: Readonly<Record<string, string>>
}

export interface PackedPackage {
  readonly manifest: Manifest
  /** Path of the archive. */
  readonly archive: string
  /** Bytes of the archive. */
  readonly packedBytes: number
  /** The folder with the unpacked files. */
  readonly folder: string
  /** Paths of the files within the folder, sorted. */
  readonly files: ReadonlyArray<string>
  /** Bytes of the files. */
  readonly unpackedBytes: number
}

/** Returns the manifest in a folder. */
export const manifestIn = (folder: string): Manifest =>
  JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest

/** Returns the package whose archive was unpacked into a folder. */
export const packedPackage = (archive: string, folder: string): PackedPackage => {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).replaceAll("\\", "/")).toSorted()
  return {
    manifest: manifestIn(folder),
    archive,
    packedBytes: statSync(archive).size,
    folder,
    files,
    unpackedBytes: files.reduce((sum, file) => sum + statSync(join(folder, file)).size, 0)
  }
}

/** Unpacks an archive into a folder of its own. */
export const unpack = async (archive: string, target: string): Promise<PackedPackage> => {
  const folder = join(target, basename(archive, ".tgz"))
  mkdirSync(folder, { recursive: true })
  await run("tar", ["-xzf", archive, "--strip-components", "1", "-C", folder], target)
  return packedPackage(archive, folder)
}

/** List of the archives that a release publishes. */
import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"
import { basename } from "node:path"
import type { PackedPackage } from "./packedPackage.ts"

export interface Line {
  readonly name: string
  readonly version: string
  readonly archive: string
  readonly packedBytes: number
  readonly unpackedBytes: number
  readonly files: number
  /** Digest of the archive, as the registry shows it. */
  readonly integrity: string
}

/** Returns a line for each package. */
export const planOf = (packages: ReadonlyArray<PackedPackage>): ReadonlyArray<Line> =>
  packages.map(({ archive, files, manifest: { name, version }, packedBytes, unpackedBytes }) => ({
    name,
    version,
    archive: basename(archive),
    packedBytes,
    unpackedBytes,
    files: files.length,
    integrity: `sha512-${createHash("sha512").update(readFileSync(archive)).digest("base64")}`
  }))

const kib = (bytes: number): string => `${Math.ceil(bytes / 1024)} KiB`

/** Returns the lines as a table for a terminal. */
export const tableOf = (plan: ReadonlyArray<Line>): string => {
  const rows = [
    ["package", "version", "packed", "unpacked", "files"],
    ...plan.map((
      { files, name, packedBytes, unpackedBytes, version }
    ) => [name, version, kib(packedBytes), kib(unpackedBytes), String(files)])
  ]
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)))
  return rows.map((row) =>
    row.map((cell, column) => column < 2 ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!)).join("  ")
  )
    .join("\n")
}

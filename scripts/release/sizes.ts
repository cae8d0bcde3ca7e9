/** Sizes of packed packages, in KiB, against their recorded limits (`sizes.json`). */
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { PackedPackage } from "./packedPackage.ts"

interface Size {
  readonly packed: number
  readonly unpacked: number
}

/** Limits by the name of a package, in KiB. */
export type Limits = Readonly<Record<string, Size>>

const path = join(import.meta.dirname, "sizes.json")

export const recordedLimits = (): Limits => JSON.parse(readFileSync(path, "utf8")) as Limits

const sizeOf = ({ packedBytes, unpackedBytes }: PackedPackage): Size => ({
  packed: Math.ceil(packedBytes / 1024),
  unpacked: Math.ceil(unpackedBytes / 1024)
})

/** Returns a sentence for each size of a package that is above its limit. */
export const sizeProblems = (limits: Limits) => (packed: PackedPackage): ReadonlyArray<string> => {
  const { name } = packed.manifest
  const limit = limits[name]
  if (limit === undefined) return [`${name}: no size is recorded. \`pnpm release --dry-run --record\` records it.`]
  const size = sizeOf(packed)
  return (["packed", "unpacked"] as const).filter((kind) => size[kind] > limit[kind])
    .map((kind) => `${name}: ${size[kind]} KiB ${kind}, and ${limit[kind]} are the limit.`)
}

/** Records limits a fifth above the sizes. */
export const recordLimits = (packages: ReadonlyArray<PackedPackage>): void => {
  const above = (size: number): number => Math.ceil(size * 0.12) * 10
  const limits = Object.fromEntries(packages.map((packed) => {
    const { packed: small, unpacked } = sizeOf(packed)
    return [packed.manifest.name, { packed: above(small), unpacked: above(unpacked) }]
  }))
  writeFileSync(path, `${JSON.stringify(limits, undefined, 2)}\n`)
}

/** Publication of the archives that were checked. */
import { run } from "./command.ts"
import type { Manifest, PackedPackage } from "./packedPackage.ts"

const needs = ({ dependencies, peerDependencies }: Manifest): ReadonlyArray<string> =>
  Object.keys({ ...dependencies, ...peerDependencies })

/** Returns packages in an order in which each one comes after those that it needs, so that no published version lacks one. */
export const inOrder = (packages: ReadonlyArray<PackedPackage>): ReadonlyArray<PackedPackage> => {
  const byName = new Map(packages.map((packed) => [packed.manifest.name, packed]))
  const ordered = new Set<PackedPackage>()
  const add = (packed: PackedPackage, around: ReadonlySet<string>): void => {
    const { name } = packed.manifest
    if (around.has(name)) return
    for (const need of needs(packed.manifest)) {
      const needed = byName.get(need)
      if (needed !== undefined) add(needed, new Set([...around, name]))
    }
    ordered.add(packed)
  }
  for (const packed of packages) add(packed, new Set())
  return [...ordered]
}

const isPublished = async ({ archive, manifest: { name, version } }: PackedPackage, cwd: string): Promise<boolean> => {
  try {
    return (await run("npm", ["view", `${name}@${version}`, "version", "--json"], cwd)).trim() !== ""
  } catch (error) {
    // npm prints the code of the registry's answer as JSON.
    if (/"code":\s*"E404"/.test(String(error))) return false
    throw new Error(`The registry does not answer whether ${name} ${version} is published, so ${archive} is not sent`, {
      cause: error
    })
  }
}

/**
 * Publishes each archive that the registry does not have, and returns the names of the published packages. A publication that
 * failed half-way is continued by the same command. npm gets its credentials from the workflow (trusted publishing) or from a token.
 */
export const publish = async (
  packages: ReadonlyArray<PackedPackage>,
  cwd: string,
  provenance = true
): Promise<ReadonlyArray<string>> => {
  const published: Array<string> = []
  for (const packed of inOrder(packages)) {
    if (await isPublished(packed, cwd)) continue
    await run("npm", ["publish", packed.archive, "--access", "public", `--provenance=${provenance}`], cwd)
    published.push(packed.manifest.name)
  }
  return published
}

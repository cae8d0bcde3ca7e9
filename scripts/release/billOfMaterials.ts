/**
 * Bills of materials (CycloneDX) by pnpm, one for each package, with the versions that the tests ran against.
 *
 * pnpm lists dependencies, and peers only if no development dependency has their name. Here a copy of the workspace declares
 * the peers as dependencies: npm installs them with the package, and a program runs them.
 */
import { globSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { importedPackages } from "../packageImports.ts"
import { run } from "./command.ts"
import type { BillOfMaterials } from "./licences.ts"
import { type Manifest, manifestIn } from "./packedPackage.ts"

const pick = (ranges: Manifest["dependencies"] = {}, isPicked: (name: string) => boolean) =>
  Object.fromEntries(Object.entries(ranges).filter(([name]) => isPicked(name)))

/** Returns a manifest whose dependencies are all that runs with the package: peers, and `bundled` packages in its pages. */
export const runtimeManifest = (manifest: Manifest, bundled: ReadonlySet<string>): Manifest => {
  const { devDependencies, peerDependencies, peerDependenciesMeta, ...rest } = manifest
  const isOptional = (name: string): boolean => peerDependenciesMeta?.[name]?.optional === true
  return {
    ...rest,
    dependencies: {
      ...pick(devDependencies, (name) => bundled.has(name)),
      ...manifest.dependencies,
      ...pick(peerDependencies, (name) => !isOptional(name))
    },
    optionalDependencies: { ...manifest.optionalDependencies, ...pick(peerDependencies, isOptional) }
  }
}

const bundledPackages = (folder: string): ReadonlySet<string> =>
  new Set(
    globSync("web/**/*.{ts,tsx}", { cwd: folder }).flatMap((file) =>
      importedPackages(readFileSync(join(folder, file), "utf8"))
    )
  )

/** Changes the manifests of a staged workspace, and writes its bills into a folder. Returns them. */
export const writeBills = async (staged: string, target: string): Promise<ReadonlyArray<BillOfMaterials>> => {
  for (const name of globSync("packages/*", { cwd: staged })) {
    const folder = join(staged, name)
    const manifest = runtimeManifest(manifestIn(folder), bundledPackages(folder))
    writeFileSync(join(folder, "package.json"), JSON.stringify(manifest))
  }
  const packages = ["--recursive", "--filter", "./packages/*"]
  await run("pnpm", ["install", "--lockfile-only", "--no-frozen-lockfile", "--prefer-offline"], staged)
  await run("pnpm", [
    ...packages,
    "sbom",
    "--sbom-format",
    "cyclonedx",
    "--prod",
    "--split",
    "--out",
    join(target, "%s-%v.cdx.json")
  ], staged)
  return globSync("*.cdx.json", { cwd: target }).toSorted()
    .map((file) => JSON.parse(readFileSync(join(target, file), "utf8")) as BillOfMaterials)
}

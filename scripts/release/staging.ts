/** A clean copy of the workspace, in which a release is built: it has the files of git and nothing else. */
import { copyFileSync, existsSync, globSync, mkdirSync } from "node:fs"
import { dirname, join } from "node:path"
import { run } from "./command.ts"

/** Changesets that no release has used yet. */
export const pendingChangesets = (root: string): ReadonlyArray<string> =>
  globSync(".changeset/*.md", { cwd: root }).filter((file) => !file.endsWith("README.md"))

/** Clones the history of a workspace, and copies its files, changed ones and new ones too. */
export const stage = async (root: string, folder: string): Promise<void> => {
  await run("git", ["clone", "--quiet", "--no-checkout", root, folder], root)
  // Changesets looks up commits of files that are in the index.
  await run("git", ["reset", "--quiet"], folder)
  const files = await run("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], root)
  for (const file of files.split("\0").filter((name) => name !== "" && existsSync(join(root, name)))) {
    mkdirSync(dirname(join(folder, file)), { recursive: true })
    copyFileSync(join(root, file), join(folder, file))
  }
  await run("pnpm", ["install", "--frozen-lockfile", "--prefer-offline"], folder)
}

/** Applies the changesets: versions and changelogs. */
export const applyChangesets = (folder: string): Promise<string> => run("pnpm", ["run", "version"], folder)

/** Builds the packages, and packs them into a folder. Returns the paths of the archives. */
export const pack = async (folder: string, target: string): Promise<ReadonlyArray<string>> => {
  await run("pnpm", ["build"], folder)
  await run("pnpm", ["--recursive", "--filter", "./packages/*", "pack", "--out", join(target, "%s-%v.tgz")], folder)
  return globSync("*.tgz", { cwd: target }).toSorted().map((archive) => join(target, archive))
}

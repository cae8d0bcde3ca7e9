/** Changelogs of packed packages: each has the version, in a length that people read. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import type { PackedPackage } from "./packedPackage.ts"

/** Lines of one version at most. More changesets than that are condensed before the release. */
const mostLines = 100

/** Returns the section of a version in a changelog, without its heading. */
export const sectionOf = (changelog: string, version: string): string | undefined => {
  const [, ...sections] = changelog.split(/^## /m)
  const section = sections.find((text) => text.split("\n")[0]!.trim() === version)
  return section?.slice(section.indexOf("\n")).trim()
}

/** Returns a sentence if a package's changelog lacks the version, says no word about a first version, or is too long to read. */
export const changelogProblems =
  (version: string) => ({ files, folder, manifest: { name } }: PackedPackage): ReadonlyArray<string> => {
    if (!files.includes("CHANGELOG.md")) return []
    const changelog = readFileSync(join(folder, "CHANGELOG.md"), "utf8")
    const section = sectionOf(changelog, version)
    if (section === undefined) return [`${name}: CHANGELOG.md has no section "## ${version}".`]
    const isFirst = changelog.split(/^## /m).length === 2
    const lines = section.split("\n")
    return [
      ...(lines.length > mostLines
        ? [
          `${name}: CHANGELOG.md has ${lines.length} lines for ${version}, and ${mostLines} are read: condense the changesets.`
        ]
        : []),
      ...(isFirst && !lines.some((line) => line.startsWith("- ") && !line.startsWith("- Needs "))
        ? [`${name}: CHANGELOG.md does not describe the first version: a changeset has to name the package.`]
        : [])
    ]
  }

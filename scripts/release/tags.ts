/** The tag of a release: `v` and the version that all packages have. */
import { run } from "./command.ts"

export const tagOf = (version: string): string => `v${version}`

const numbers = (version: string): ReadonlyArray<number> => version.split(/[.-]/).slice(0, 3).map(Number)

/** True if a version is later than another one. Versions before a release (`1.0.0-beta.1`) count as that release. */
export const isLater = (version: string, than: string): boolean => {
  const [of, other] = [numbers(version), numbers(than)]
  const at = of.findIndex((number, index) => number !== other[index])
  return at >= 0 && of[at]! > other[at]!
}

/** Returns a sentence if the version was released from another commit, or is earlier than a released one. */
export const tagProblems = async (root: string, version: string): Promise<ReadonlyArray<string>> => {
  const lines = async (...args: ReadonlyArray<string>) =>
    (await run("git", args, root)).split("\n").filter((line) => line !== "")
  const [all, here] = await Promise.all([lines("tag", "--list", "v*"), lines("tag", "--points-at", "HEAD")])
  const tag = tagOf(version)
  if (here.includes(tag)) return []
  if (all.includes(tag)) return [`${tag} is the tag of another commit: this version was released before.`]
  const later = all.filter((name) => isLater(name.slice(1), version))
  return later.length === 0 ? [] : [`${version} is earlier than ${later.join(", ")}, which was released before.`]
}

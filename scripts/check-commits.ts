/**
 * Checks subjects of commits: `room: imperative`, in lower case, at most 72 characters, without a full stop.
 *
 * `node scripts/check-commits.ts FILE` checks the message in a file, for git's `commit-msg` hook. `git config
 * core.hooksPath scripts/hooks` installs the hook. Without a file it checks the commits that `origin/main` does not
 * have.
 */
import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"

const form = /^[a-z][a-z0-9-]*(?:, [a-z][a-z0-9-]*)*: [a-z`"].*[^.]$/

/** Verbs in a form that is no imperative. */
const notImperative = /^[^:]*: (?:\w+(?:ed|ing)|adds|fixes|makes|changes|removes|keeps|lets|says)\b/

const problemOf = (subject: string): string | undefined => {
  if (/^(?:Merge|Revert|fixup!|squash!) /.test(subject)) return undefined
  if (subject.length > 72) return `has ${subject.length} characters, and 72 are the most`
  if (!form.test(subject)) return "is not `room: imperative`, in lower case and without a full stop"
  return notImperative.test(subject) ? "has no imperative behind the room" : undefined
}

const commits = (): ReadonlyArray<string> => {
  try {
    return execFileSync("git", ["log", "--format=%s", "origin/main..HEAD"], { encoding: "utf8", stdio: "pipe" }).split(
      "\n"
    )
  } catch {
    return []
  }
}

const file = process.argv[2]
const subjects = file === undefined
  ? commits()
  : [readFileSync(file, "utf8").split("\n").find((line) => line !== "" && !line.startsWith("#")) ?? ""]
const wrong = subjects.filter((subject) => subject !== "" || file !== undefined).flatMap((subject) => {
  const problem = problemOf(subject)
  return problem === undefined ? [] : [`"${subject}" ${problem}`]
})
for (const line of wrong) process.stderr.write(`${line}\n`)
if (wrong.length > 0) process.exit(1)

/**
 * Structure of the core in numbers: how much a reader has to hold together to follow a call.
 *
 * `pnpm structure` prints the numbers of this checkout, `--against REV` next to those of another commit, `--details
 * NAME` the places of one of them. `structure/definitions.ts` defines each number.
 */
import { execFileSync } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import { numbers } from "./structure/definitions.ts"
import { measure, type Structure } from "./structure/measure.ts"

const here = join(dirname(fileURLToPath(import.meta.url)), "..")
const { values: { against, details } } = parseArgs({
  options: { against: { type: "string" }, details: { type: "string" } }
})

/** Measures another commit in a worktree of its own, which is removed again. */
const measureCommit = (commit: string): Structure => {
  const root = join(mkdtempSync(join(tmpdir(), "structure-")), "checkout")
  const git = (...args: ReadonlyArray<string>) => execFileSync("git", args, { cwd: here, stdio: "ignore" })
  git("worktree", "add", "--detach", root, commit)
  try {
    execFileSync("pnpm", ["install", "--frozen-lockfile", "--prefer-offline", "--ignore-scripts"], {
      cwd: root,
      stdio: "ignore"
    })
    return measure(root)
  } finally {
    git("worktree", "remove", "--force", root)
    rmSync(dirname(root), { recursive: true, force: true })
  }
}

const before = against === undefined ? undefined : measureCommit(against)
const now = measure(here)
const shown = (number: number | undefined): string => (number === undefined ? "-" : String(number)).padStart(7)

if (before !== undefined) process.stdout.write(`${(against ?? "").slice(0, 7).padStart(7)} ${"now".padStart(7)}\n`)
for (const [name, counts] of Object.entries(numbers)) {
  const of = ({ numbers }: Structure) => shown(numbers[name as keyof typeof numbers])
  process.stdout.write(`${before === undefined ? "" : `${of(before)} `}${of(now)}  ${name}: ${counts}\n`)
}
for (const line of details === undefined ? [] : now.details[details] ?? []) process.stdout.write(`  ${line}\n`)

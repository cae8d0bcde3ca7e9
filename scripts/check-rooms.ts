/**
 * Holds the layout of packages (`rooms/layout.ts`).
 *
 * `node scripts/check-rooms.ts` fails with each import that breaks it, and if the lists of rooms and files are outdated. `--write` writes these lists.
 */
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { core } from "./rooms/core.ts"
import { durable } from "./rooms/durable.ts"
import { checkLayout } from "./rooms/layout.ts"

const root = join(import.meta.dirname, "..")

/** The page with the lists of each layout. */
const pages = [[core, "docs/core-files.md"], [durable, "docs/durable-files.md"]] as const

const problems = pages.flatMap(([layout, page]) => {
  const { lists, problems } = checkLayout(root, layout)
  const written = readFileSync(join(root, page), "utf8")
  const fresh = written.replaceAll(
    /(<!-- generated: (.+?) -->\n)[\s\S]*?(<!-- end -->)/g,
    (_, begin: string, list: string, end: string) => `${begin}\n${lists[list]}\n\n${end}`
  )
  if (process.argv.includes("--write")) writeFileSync(join(root, page), fresh)
  else if (written !== fresh) return [...problems, `${page} is not of now: node scripts/check-rooms.ts --write`]
  return problems
})

for (const problem of problems) process.stdout.write(`${problem}\n`)
process.stdout.write(`${problems.length} problems of layout\n`)
process.exitCode = problems.length === 0 ? 0 : 1

/**
 * Writes llms.txt, the list of the guides for language models, and llms-full.txt, with their texts, into a folder:
 * `node scripts/llms.ts [FOLDER] [--base URL]`. Default: `reports/llms`, with links to the repository.
 *
 * Shelves and descriptions are those of the README. Fails if a link leads to no page, or if a guide is on no shelf.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { guides, root, withWebLinks } from "./guides.ts"

const { positionals: [folder = join(root, "reports/llms")], values } = parseArgs({
  allowPositionals: true,
  options: { base: { type: "string", default: "https://raw.githubusercontent.com/recourse-ts/recourse/main/docs/" } }
})

interface Entry {
  readonly shelf: string
  readonly title: string
  readonly page: string
  readonly text: string
}

const read = (path: string): string => readFileSync(join(root, path), "utf8")

/** Links of the README to guides, with the text of their line. */
const entriesOf = (readme: string): ReadonlyArray<Entry> => {
  const entries: Array<Entry> = []
  let shelf = ""
  // A line that begins with two spaces continues the one before.
  for (const line of readme.replaceAll(/\n {2}(?=\S)/g, " ").split("\n")) {
    shelf = /^\*\*(\w+)\*\*$/.exec(line)?.[1] ?? (line.startsWith("## ") ? "" : shelf)
    if (shelf === "") continue
    for (
      const [, title = "", page = "", text = ""] of line.matchAll(/\[([^\]]+)\]\(docs\/([\w-]+)\.md\)(?:: ([^[]*))?/g)
    ) {
      entries.push({ shelf, title, page, text: text.trim() })
    }
  }
  return entries
}

const titleOf = (page: string): string => /^# (.*)$/m.exec(read(`docs/${page}.md`))?.[1] ?? page

const pages = guides()
const listed = entriesOf(read("README.md")).filter(({ page }) =>
  pages.includes(page) || !existsSync(join(root, `docs/${page}.md`))
)
const missing = listed.filter(({ page }) => !pages.includes(page))
if (missing.length > 0) throw new Error(`The README lists no page by: ${missing.map(({ page }) => page).join(", ")}`)
const others = pages.filter((page) => listed.every((entry) => entry.page !== page))
const entries = [...listed, ...others.map((page) => ({ shelf: "Optional", title: titleOf(page), page, text: "" }))]

const lineOf = ({ page, text, title }: Entry): string =>
  `- [${title}](${values.base}${page}.md)${text === "" ? "" : `: ${text}`}`
const shelves = [...new Set(entries.map(({ shelf }) => shelf))]

const head = `# Recourse

> A TypeScript library on Effect 4.1 for AI agents whose tools fail well. A tool call is an Effect with a typed error union, recovery is declared next to the tool, and the compiler lists the errors that can end a run.

Each package has an \`AGENTS.md\` and its guides: read \`node_modules/@recourse/core/AGENTS.md\` first. Documentation of Effect 3 does not apply.
`

const list = [
  head,
  ...shelves.map((shelf) =>
    `## ${shelf}\n\n${entries.filter((entry) => entry.shelf === shelf).map(lineOf).join("\n")}\n`
  )
].join("\n")

mkdirSync(folder, { recursive: true })
writeFileSync(join(folder, "llms.txt"), list)
writeFileSync(
  join(folder, "llms-full.txt"),
  [head, ...entries.map(({ page }) => withWebLinks(`docs/${page}.md`, read(`docs/${page}.md`), () => false))].join("\n")
)
process.stdout.write(`${entries.length} pages are in ${join(folder, "llms.txt")}\n`)

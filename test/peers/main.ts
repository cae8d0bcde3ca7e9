/**
 * The laws of recovery in agents of four libraries, with plain tools and with the adapters: `pnpm run peers` plays 200 plans and writes the
 * table of docs/peers.md.
 */
import { execFileSync } from "node:child_process"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { check, type Score } from "../support/peers/check.ts"
import { type LawName, laws } from "../support/peers/laws.ts"
import { peers } from "../support/peers/peers.ts"

const root = join(import.meta.dirname, "../..")
const plans = Number(process.argv[2] ?? 200)
const seeds = Array.from({ length: plans }, (_, index) => index + 1)

const cell = ({ broken, plans }: Score): string =>
  broken.length === 0 ? `holds (${plans})` : `${broken.length} of ${plans}`

const columns: Array<{ readonly title: string; readonly scores: Readonly<Record<LawName, Score>> }> = []
for (const peer of peers) {
  const title = peer.tools === "plain" ? peer.library : "with the adapter"
  columns.push({ title, scores: await check(peer, seeds) })
  process.stdout.write(`${peer.library}, ${peer.tools} tools\n`)
}

const names = Object.keys(laws) as ReadonlyArray<LawName>
const rows = [
  ["law", ...columns.map(({ title }) => title)],
  ["---", ...columns.map(() => "---")],
  ...names.map((name) => [laws[name].sentence, ...columns.map(({ scores }) => cell(scores[name]))])
].map((cells) => `| ${cells.join(" | ")} |`)

const git = (...args: ReadonlyArray<string>): string =>
  execFileSync("git", [...args], { cwd: root, encoding: "utf8" }).trim()
const { devDependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
  readonly devDependencies: Readonly<Record<string, string>>
}
const versions = ["ai", "langchain", "@openai/agents", "@mastra/core"].map((name) => `${name} ${devDependencies[name]}`)
const note = `${plans} plans, ${new Date().toISOString().slice(0, 10)}, commit ${
  git("log", "-1", "--format=%h", "--", ":(glob)packages/*/src/**")
}: ${versions.join(", ")}.`

const page = join(root, "docs/peers.md")
const text = readFileSync(page, "utf8")
writeFileSync(
  page,
  text.replace(
    /(<!-- peers -->\n)[^]*?(\n<!-- \/peers -->)/,
    (_, begin: string, end: string) => [begin, ...rows, "", note].join("\n") + end
  )
)
process.exit(0)

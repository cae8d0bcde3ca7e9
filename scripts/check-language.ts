/**
 * Counts the words that `docs/glossary.md` replaces, in the project's own text, against recorded ceilings (`scripts/language.json`).
 *
 * Fails if a count is above its ceiling. `--write` records the counts, and a ceiling only falls. `--tree FOLDER` counts
 * another code base, for comparison, and never fails. `--list WORD` prints the lines with a word.
 */
import { execFileSync } from "node:child_process"
import { existsSync, globSync, readFileSync, writeFileSync } from "node:fs"
import { basename, join } from "node:path"
import { codeIn, commentsIn } from "./sourceText.ts"

/** Kinds of text in the project, with the patterns of their files. */
const kinds = {
  comments: { files: ["packages/*/src/**/*.ts", "src/**/*.ts"], textOf: commentsOf },
  titles: { files: ["packages/*/test/**/*.test.ts", "test/**/*.test.ts"], textOf: titlesOf },
  messages: { files: ["packages/*/src/**/*.ts", "src/**/*.ts"], textOf: messagesOf },
  guides: { files: ["docs/*.md", "packages/*/README.md", "examples/*/README.md", "*.md"], textOf: proseOf },
  decisions: { files: ["docs/decisions/**/*.md"], textOf: proseOf },
  names: { files: ["packages/*/src/**/*.ts", "src/**/*.ts"], textOf: namesOf }
} as const

type Kind = keyof typeof kinds

interface Word {
  /** What is counted, in text. */
  readonly text: RegExp
  /** Counts for 1,000 words of text, at the end of the way. */
  readonly limit: number
}

/** The words, each with its limit: twice the rate of the field's best code bases. */
const words: Readonly<Record<string, Word>> = {
  what: { text: /\bwhat\b(?![^.!?\n]*\?)/gi, limit: 2.5 },
  where: { text: /\bwhere\b/gi, limit: 1.5 },
  nobody: { text: /\b(?:nobody|nothing|somebody|anybody)\b/gi, limit: 1 },
  tell: { text: /\b(?:told|tells?|telling)\b/gi, limit: 0.3 },
  goOn: { text: /\b(?:go|goes|gone|going|went) on\b/gi, limit: 0.1 },
  comeBy: { text: /\b(?:come|comes|came) by\b/gi, limit: 0 },
  stand: { text: /\b(?:stands?|stood)\b/gi, limit: 0.5 },
  asBecause: { text: /, as (?!a result|well|if|in|with|of)/g, limit: 0.8 },
  life: { text: /\b(?:life|lives|leg|legs)\b/gi, limit: 0 },
  begun: { text: /\b(?:begun|anew|beside|undone)\b/gi, limit: 0.3 }
}

/** Parts of names that describe time or manner instead of a thing. */
const banned =
  /^(?:begun|told|tells?|kept|owed?|owes|held|holds|life|lives|leg|undone|undo|undoes|undoing|unwind|anew|beside|hears?|hearers?|ears?|came|comes)$/i

const partsOf = (name: string): ReadonlyArray<string> =>
  name.split(/(?=[A-Z])|[^A-Za-z]+/).filter((part) => part !== "")

function commentsOf(code: string): string {
  const texts = commentsIn(code).flatMap((comment) => {
    if (comment.startsWith("//")) return /^\/\/ (?!oxlint|@ts)(.*)$/.exec(comment)?.[1] ?? []
    return comment.slice(2, -2).replaceAll(/^\s*\* ?/gm, "").replaceAll(/```[\s\S]*?```/g, "")
      .replaceAll(/^@(?:category|since) .*$/gm, "")
  })
  return withoutCode(texts.join("\n"))
}

function titlesOf(code: string): string {
  return [...code.matchAll(/\b(?:it|test|describe)(?:\.\w+)*\(\s*(["'`])((?:\\.|(?!\1)[^\\])*)\1/g)]
    .map(([, , text = ""]) => text).join("\n")
}

/** Texts of three words or more in the code: errors, logs, texts for a model or a user. */
function messagesOf(code: string): string {
  return [...codeIn(code).matchAll(/(["`])((?:\\.|(?!\1)[^\\\n])*)\1/g)]
    .map(([, , text = ""]) => text.replaceAll(/\$\{[^}]*\}/g, "x"))
    .filter((text) =>
      /[a-z]+ [a-z]+ [a-z]+/i.test(text) && !/\b(?:SELECT|UPDATE|INSERT|DELETE|WHERE|FROM)\b/.test(text)
    )
    .join("\n")
}

function proseOf(page: string): string {
  return withoutCode(page.replaceAll(/```[\s\S]*?```/g, "").replaceAll(/<!--[\s\S]*?-->/g, ""))
}

const declaration = /\b(?:const|let|function|class|interface|type|readonly|get|set)\s+([A-Za-z]\w+)/g

function namesOf(code: string): string {
  return [...new Set([...codeIn(code).matchAll(declaration)].map(([, name = ""]) => name))].join("\n")
}

function withoutCode(text: string): string {
  return text.replaceAll(/`[^`\n]*`/g, "x").replaceAll(/\]\([^)]*\)/g, "]").replaceAll(/https?:\S+/g, "")
}

const print = (line: string): void => void process.stdout.write(`${line}\n`)
const complain = (line: string): void => void process.stderr.write(`${line}\n`)

const root = join(import.meta.dirname, "..")

const argument = (name: string): string | undefined => {
  const at = process.argv.indexOf(name)
  return at < 0 ? undefined : process.argv[at + 1]
}

const tree = argument("--tree") ?? root
const listed = argument("--list")

const filesOf = (kind: Kind): ReadonlyArray<string> =>
  [...new Set(kinds[kind].files.flatMap((pattern) => globSync(pattern, { cwd: tree })))]
    .filter((file) =>
      !/node_modules|\/dist\/|doc-examples|CHANGELOG|glossary\.md|performance\.md|(?:core|durable)-files\.md|\.d\.ts$/
        .test(file)
    )
    .toSorted()

const countOf = (text: string, { text: pattern }: Word): number => text.match(pattern)?.length ?? 0

const counts: Record<string, number> = {}
const sizes: Record<string, number> = {}

const percentile = (values: ReadonlyArray<number>, part: number): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length * part)] ?? 0

for (const kind of Object.keys(kinds) as ReadonlyArray<Kind>) {
  const texts = filesOf(kind).map((file) => [file, kinds[kind].textOf(readFileSync(join(tree, file), "utf8"))] as const)
  if (kind === "names") {
    const all = texts.flatMap(([file, text]) => [...text.split("\n"), basename(file).replace(/\..*$/, "")])
    const found = all.filter((name) => partsOf(name).some((part) => banned.test(part)))
    counts["names.banned"] = found.length
    sizes["names"] = all.length
    if (listed === "names") print([...new Set(found)].toSorted().join(" "))
    continue
  }
  const whole = texts.map(([, text]) => text).join("\n")
  sizes[kind] = whole.match(/[A-Za-z']+/g)?.length ?? 0
  for (const [name, word] of Object.entries(words)) counts[`${kind}.${name}`] = countOf(whole, word)
  if (kind === "titles") {
    const lengths = whole.split("\n").map((title) => title.split(/\s+/).length)
    counts["titles.words90th"] = percentile(lengths, 0.9)
  }
  if (listed !== undefined && words[listed] !== undefined) {
    for (const [file, text] of texts) {
      for (const line of text.split("\n")) if (countOf(line, words[listed]!) > 0) print(`${file}: ${line.trim()}`)
    }
  }
}

// An unpacked archive has no commits.
if (existsSync(join(tree, ".git"))) {
  const subjects = execFileSync("git", ["log", "--format=%s", "-200"], { cwd: tree, encoding: "utf8" }).split("\n")
  counts["commits.letters90th"] = percentile(subjects.map(({ length }) => length), 0.9)
}

const perThousand = (kind: string, count: number): string => (count / Math.max(1, sizes[kind] ?? 0) * 1000).toFixed(1)

const rows = Object.entries(words).map(([name, { limit }]) => [
  name,
  ...(["comments", "titles", "messages", "guides", "decisions"] as const).map((kind) =>
    perThousand(kind, counts[`${kind}.${name}`]!)
  ),
  String(limit)
])
if (listed === undefined) {
  print(
    ["for 1,000 words", "comments", "titles", "messages", "guides", "decisions", "limit"].map((text) => text.padEnd(16))
      .join("")
  )
  for (const row of rows) print(row.map((text) => text.padEnd(16)).join(""))
  print(`names with a banned part: ${counts["names.banned"]} of ${sizes["names"]}`)
  print(`words of a test title, 90th percentile: ${counts["titles.words90th"]} (limit 12)`)
  print(`letters of a commit subject, 90th percentile: ${counts["commits.letters90th"] ?? "-"} (limit 72)`)
}

const record = join(root, "scripts/language.json")
const isOwn = tree === root && listed === undefined
const ceilings = JSON.parse(isOwn ? readFileSync(record, "utf8") : "{}") as Record<string, number>

if (isOwn && process.argv.includes("--write")) {
  const lower = Object.entries(counts).filter(([name]) => !name.startsWith("commits"))
    .map(([name, count]) => [name, Math.min(count, ceilings[name] ?? count)])
  writeFileSync(record, `${JSON.stringify(Object.fromEntries(lower), undefined, 2)}\n`)
} else if (isOwn) {
  const above = Object.entries(ceilings).filter(([name, ceiling]) => (counts[name] ?? 0) > ceiling)
  for (const [name, ceiling] of above) {
    complain(
      `${name}: ${
        counts[name]
      }, and the ceiling is ${ceiling}. docs/glossary.md has the word to use; --list shows where it stands`
    )
  }
  if (above.length > 0) process.exit(1)
}

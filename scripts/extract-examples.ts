/**
 * Makes a test of every example in the documentation: each `ts` fence in a doc comment of the packages' sources and in the
 * Markdown pages. A trailing `// => value` behind an expression is an assertion. The tests go to `test/doc-examples`, which is
 * not under version control, so that the compiler and the test runner see the examples as ordinary files. Programs under another
 * name are refused, because they would not be compiled; `tsx` is for React in a page, which these packages do not depend on.
 */
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { basename, dirname, join } from "node:path"
import { withAssertions } from "./assertions.ts"

const root = join(import.meta.dirname, "..")
const target = join(root, "test", "doc-examples")

interface Example {
  readonly title: string
  readonly code: ReadonlyArray<string>
}

const examplesIn = (text: string, isMarkdown: boolean): ReadonlyArray<Example> => {
  const lines = text.split("\n").map((line) => isMarkdown ? line : line.replace(/^\s*\* ?/, ""))
  const examples: Array<Example> = []
  let title = ""
  let open: Array<string> | undefined
  for (const line of lines) {
    const named = /^\*\*Example\*\* \((.*)\)$/.exec(line) ?? (isMarkdown ? /^#+ (.*)$/.exec(line) : null)
    if (open === undefined && /^(?:```(?:typescript|javascript|mts|[mc]?js|jsx)|`{4,}ts)\b/.test(line)) {
      throw new Error(`An example begins with \`\`\`ts, so that it is compiled: ${line} under "${title}"`)
    }
    if (open === undefined && named !== null) title = named[1]!
    else if (open === undefined && line === "```ts") open = []
    else if (open !== undefined && line === "```") {
      examples.push({ title, code: open })
      open = undefined
    } else open?.push(line)
  }
  return examples
}

/** The imports of all examples of a page as one list: the same name always means the same thing in a page. */
const mergedImports = (lines: ReadonlyArray<string>): ReadonlyArray<string> => {
  const byModule = new Map<string, Set<string>>([["\"@effect/vitest\"", new Set(["assert", "test"])]])
  const namespaces = new Set<string>()
  for (const line of lines) {
    if (line.startsWith("import * as ")) {
      namespaces.add(line)
      continue
    }
    const match = /^import (?:type )?\{(.*)\} from (".*")$/.exec(line)
    const prefix = line.startsWith("import type ") ? "type " : ""
    if (match === null) throw new Error(`An example may import named bindings and namespaces only: ${line}`)
    const names = byModule.get(match[2]!) ?? new Set()
    for (const name of match[1]!.split(",")) names.add(prefix + name.trim())
    byModule.set(match[2]!, names)
  }
  return [...namespaces, ...[...byModule].map(([from, names]) => `import { ${[...names].join(", ")} } from ${from}`)]
}

const isImport = (line: string): boolean => line.startsWith("import ")

const write = (source: string, examples: ReadonlyArray<Example>): void => {
  if (examples.length === 0) return
  const tests = examples.flatMap(({ code, title }) => [
    "",
    `test(${JSON.stringify(title)}, async () => {`,
    ...withAssertions(code.filter((line) => !isImport(line)).map((line) => line.replace(/^export /, ""))),
    "})"
  ])
  const name = `${basename(dirname(source))}-${basename(source).replace(/\.\w+$/, "")}.test.ts`
  writeFileSync(
    join(target, name),
    [...mergedImports(examples.flatMap(({ code }) => code.filter(isImport))), ...tests, ""].join("\n")
  )
}

rmSync(target, { recursive: true, force: true })
mkdirSync(target, { recursive: true })
for (const source of globSync("packages/*/src/**/*.ts", { cwd: root }).toSorted()) {
  write(source, examplesIn(readFileSync(join(root, source), "utf8"), false))
}
for (
  const source of globSync(["README.md", "docs/**/*.md", "packages/*/{README,AGENTS}.md"], { cwd: root }).toSorted()
) {
  write(source, examplesIn(readFileSync(join(root, source), "utf8"), true))
}

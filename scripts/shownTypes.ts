/**
 * Types that guides show: below a declaration, `//    ^? Type` names the compiler's type of the name above the caret.
 *
 * A fence with a file name is compiled with the files of its page, and of the pages before it in the tutorial.
 */
import { spawnSync } from "node:child_process"
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fencesOf } from "../test/packed/support/page.ts"
import { referencesFrom } from "../test/support/declarations.ts"
import { tutorialPages } from "../test/support/tutorialPages.ts"
import { root } from "./guides.ts"

export interface ShownType {
  readonly page: string
  readonly name: string
  /** The lines of the page that show the type. */
  readonly lines: ReadonlyArray<string>
  readonly shown: string
}

interface Program extends ShownType {
  readonly files: Readonly<Record<string, string>>
}

const caret = /^\/\/ *\^\?/

/** The name in a line that is above the caret of the next one. */
const nameAbove = (line: string, column: number): string =>
  [...line.matchAll(/[\w$]+/g)].find(({ 0: word, index }) => index <= column && column < index + word.length)?.[0] ?? ""

/** Writes a type on one line: the parts of a long one are on lines of their own in a page. */
const oneLine = (type: string): string => type.replace(/\s+/g, " ").replace(/< /g, "<").replace(/ >/g, ">").trim()

/** Returns the shown types of a fence. A type ends at the first line that is no comment. */
const typesOf = (page: string, lines: ReadonlyArray<string>): ReadonlyArray<ShownType> =>
  lines.flatMap((line, index) => {
    if (!caret.test(line)) return []
    const name = nameAbove(lines[index - 1] ?? "", line.indexOf("^"))
    if (name === "") throw new Error(`${page}: no name is above the caret of: ${line}`)
    const length = lines.slice(index + 1).findIndex((next) => !/^\/\/ {3}/.test(next))
    const own = lines.slice(index, length < 0 ? undefined : index + 1 + length)
    const shown = own.map((part) => part.replace(caret, "").replace(/^\/\//, "")).join(" ")
    return [{ page, name, lines: own, shown: oneLine(shown) }]
  })

const pagesOf = (): ReadonlyArray<string> =>
  globSync("docs/*.md", { cwd: root }).map((path) => path.slice("docs/".length)).toSorted()

/** Programs of the shown types of all pages, with the files that each needs. */
const programs = (): ReadonlyArray<Program> => {
  let ofTutorial: Readonly<Record<string, string>> = {}
  return [...tutorialPages, ...pagesOf().filter((page) => !tutorialPages.includes(page))].flatMap((page) => {
    const isTutorial = tutorialPages.includes(page)
    let files = isTutorial ? ofTutorial : {}
    const found = fencesOf(readFileSync(join(root, "docs", page), "utf8")).flatMap(({ info, lines }) => {
      const [language, file = "example.ts"] = info.split(" ")
      if (language !== "ts") return []
      const text = `${lines.join("\n")}\n`
      if (file !== "example.ts" && !file.endsWith(".test.ts")) files = { ...files, [file]: text }
      const used = file === "example.ts" ? {} : files
      return typesOf(page, lines).map((type) => ({
        ...type,
        files: { ...used, [file]: `${text}export const probe: 0 = ${type.name}\n` }
      }))
    })
    if (isTutorial) ofTutorial = files
    return found
  })
}

const configuration = {
  extends: "../../../tsconfig.base.json",
  compilerOptions: {
    noEmit: true,
    declaration: false,
    noErrorTruncation: true,
    noUnusedLocals: false,
    exactOptionalPropertyTypes: false,
    types: ["node"]
  },
  include: ["./*/*.ts"]
}

const folder = join(root, "test/guides/.generated-types")

const compile = (all: ReadonlyArray<Program>): string => {
  rmSync(folder, { recursive: true, force: true })
  for (const [index, { files }] of all.entries()) {
    mkdirSync(join(folder, `p${index}`), { recursive: true })
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, `p${index}`, name), text)
  }
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ ...configuration, references: referencesFrom(folder) }))
  const tsc = join(root, "node_modules/typescript/bin/tsc")
  const { stdout } = spawnSync(process.execPath, [tsc, "-b", folder, "--pretty", "false", "--singleThreaded"], {
    cwd: folder,
    encoding: "utf8",
    maxBuffer: 1 << 28
  })
  rmSync(folder, { recursive: true })
  return stdout
}

/** Returns each shown type with the compiler's own. */
export const shownTypes = (): ReadonlyArray<ShownType & { readonly type: string }> => {
  const all = programs()
  const errors = compile(all)
  return all.map(({ files: _, ...shown }, index) => {
    const own = errors.split("\n").filter((line) => line.startsWith(`p${index}/`))
    const [type, ...others] = own.map((line) => /: Type '(.*)' is not assignable to type '0'/.exec(line)?.[1])
    if (type === undefined || others.length > 0) throw new Error(`${shown.page}: ${own.join("\n")}`)
    return { ...shown, type }
  })
}

/** Splits the arguments of a type: `Effect<A, B | C<D>>` has `A` and `B | C<D>`. */
const argumentsOf = (list: string): ReadonlyArray<string> => {
  const parts = [""]
  let depth = 0
  for (const character of list) {
    if ("<({[".includes(character)) depth++
    if (">)}]".includes(character)) depth--
    if (depth === 0 && character === ",") parts.push("")
    else parts[parts.length - 1] += character
  }
  return parts.map((part) => part.trim())
}

const widest = 100

/** Returns the lines that show a type, below the caret of a line. A long type has a line for each of its arguments. */
export const linesOf = (line: string, type: string): ReadonlyArray<string> => {
  const head = caret.exec(line)![0]
  const [, name, list] = /^(\w+)<(.*)>$/.exec(type) ?? []
  if (`${head} ${type}`.length <= widest || list === undefined) return [`${head} ${type}`]
  const margin = `//${" ".repeat(head.length - 1)}`
  const parts = argumentsOf(list)
  return [
    `${head} ${name}<`,
    ...parts.map((part, index) => `${margin}  ${part}${index < parts.length - 1 ? "," : ""}`),
    `${margin}>`
  ]
}

/** Declarations behind the public exports of the packages, with their docstrings. */
import type { types as t } from "@babel/core"
import { readdirSync, readFileSync } from "node:fs"
import { dirname, join, relative } from "node:path"
import { publicModules } from "./publicModules.ts"
import { parse } from "./structure/source.ts"

const root = join(import.meta.dirname, "..")

/** One declaration of a source file. A name may have several: a value and a type, or overloads. */
export interface Declaration {
  /** Path from the root of the repository. */
  readonly file: string
  readonly name: string
  /** Offset of the `export` keyword in the file. */
  readonly start: number
  readonly node: t.Declaration
  /** Text of the docstring that is directly above; undefined if there is none. */
  readonly docstring: { readonly text: string; readonly start: number; readonly end: number } | undefined
}

/** An export of a public module, and its declarations. */
export interface PublicExport {
  readonly package: string
  readonly module: string
  readonly name: string
  readonly declarations: ReadonlyArray<Declaration>
}

interface Module {
  readonly declared: ReadonlyMap<string, ReadonlyArray<Declaration>>
  /** Names that come from another module; `from` is undefined if the name is declared or imported in this one. */
  readonly passed: ReadonlyArray<{ readonly name: string; readonly local: string; readonly from: string | undefined }>
  readonly imported: ReadonlyMap<string, { readonly name: string; readonly from: string }>
  /** Modules of which all names are exported. */
  readonly all: ReadonlyArray<string>
}

const nameOf = (node: t.Identifier | t.StringLiteral): string => node.type === "Identifier" ? node.name : node.value

const namesOf = (node: t.Declaration): ReadonlyArray<string> => {
  if (node.type === "VariableDeclaration") {
    return node.declarations.flatMap(({ id }) => id.type === "Identifier" ? [id.name] : [])
  }
  return "id" in node && node.id?.type === "Identifier" ? [node.id.name] : []
}

const docstringOf = (node: t.Node, text: string): Declaration["docstring"] => {
  const found = node.leadingComments?.findLast(({ type, value }) => type === "CommentBlock" && value.startsWith("*"))
  if (found === undefined) return undefined
  const [start, end] = [found.start!, found.end!]
  // Only directives for the linter may follow; a blank line ends the text of a module or a section.
  const between = text.slice(end, node.start!).replaceAll(/^[ \t]*\/\/.*\n/gm, "")
  return /^\n\s*$/.test(between) && !/\n[ \t]*\n/.test(between)
    ? { text: text.slice(start, end), start, end }
    : undefined
}

const readModule = (file: string): Module => {
  const text = readFileSync(join(root, file), "utf8")
  const declared = new Map<string, Array<Declaration>>()
  const passed: Array<Module["passed"][number]> = []
  const imported = new Map<string, { name: string; from: string }>()
  const all: Array<string> = []
  const declare = (statement: t.Node, node: t.Declaration): void => {
    const docstring = docstringOf(statement, text)
    for (const name of namesOf(node)) {
      declared.set(name, [...declared.get(name) ?? [], { file, name, start: statement.start!, node, docstring }])
    }
  }
  for (const node of (parse(text) as t.File).program.body) {
    if (node.type === "ExportAllDeclaration") all.push(node.source.value)
    else if (node.type === "ImportDeclaration") {
      for (const specifier of node.specifiers) {
        if (specifier.type !== "ImportSpecifier") continue
        imported.set(specifier.local.name, { name: nameOf(specifier.imported), from: node.source.value })
      }
    } else if (node.type === "ExportNamedDeclaration") {
      if (node.declaration) declare(node, node.declaration)
      for (const specifier of node.specifiers) {
        if (specifier.type !== "ExportSpecifier") continue
        passed.push({ name: nameOf(specifier.exported), local: nameOf(specifier.local), from: node.source?.value })
      }
    } else if (namesOf(node as t.Declaration).length > 0) declare(node, node as t.Declaration)
  }
  const exported = new Map(
    [...declared].filter(([name, declarations]) =>
      passed.some((one) => one.from === undefined && one.local === name) ||
      declarations.some(({ start }) => text.startsWith("export", start))
    )
  )
  return { declared: exported, passed, imported, all }
}

const modules = new Map<string, Module>()

const moduleOf = (file: string): Module => {
  const known = modules.get(file)
  if (known !== undefined) return known
  const read = readModule(file)
  modules.set(file, read)
  return read
}

/** Path of a module that a file names; undefined for one of a dependency. */
const resolve = (file: string, from: string): string | undefined => {
  if (from.startsWith(".")) return relative(root, join(root, dirname(file), from))
  const [, folder, module] = /^@recourse\/([\w-]+)\/(\w+)$/.exec(from) ?? []
  return folder === undefined ? undefined : `packages/${folder}/src/${module}.ts`
}

const lookUp = (file: string, name: string): ReadonlyArray<Declaration> => exportsOf(file).get(name) ?? []

/** Returns the declarations behind each name that a file exports. */
const exportsOf = (file: string): ReadonlyMap<string, ReadonlyArray<Declaration>> => {
  const { all, declared, imported, passed } = moduleOf(file)
  const found = new Map<string, ReadonlyArray<Declaration>>()
  for (const from of all) {
    const path = resolve(file, from)
    if (path !== undefined) { for (const [name, declarations] of exportsOf(path)) found.set(name, declarations) }
  }
  for (const [name, declarations] of declared) found.set(name, declarations)
  for (const { from, local, name } of passed) {
    const source = from === undefined ? imported.get(local) : { name: local, from }
    if (source === undefined) {
      found.set(name, declared.get(local) ?? [])
      continue
    }
    const path = resolve(file, source.from)
    if (path !== undefined) found.set(name, [...found.get(name) ?? [], ...lookUp(path, source.name)])
  }
  return found
}

/** Returns the exports of each public module but the barrels, in the order of packages, modules and names. */
export const publicExports = (): ReadonlyArray<PublicExport> =>
  readdirSync(join(root, "packages")).toSorted().flatMap((folder) =>
    publicModules(folder).filter((module) => /^[A-Z]/.test(module)).flatMap((module) =>
      [...exportsOf(`packages/${folder}/src/${module}.ts`)].toSorted(([a], [b]) => a < b ? -1 : 1).map(
        ([name, declarations]) => ({ package: folder, module, name, declarations })
      )
    )
  )

/** Types of public signatures that no public module exports: a reader cannot look them up, and a program cannot name them. */
import { join, relative } from "node:path"
import ts from "typescript"
import { publishedFolders, root } from "../../../scripts/guides.ts"
import { publicModules } from "../../../scripts/publicModules.ts"

const isCommand = (name: string): boolean => /^(index|.*[bB]in)$/.test(name)

const files = publishedFolders().flatMap((folder) =>
  publicModules(folder).filter((name) => !isCommand(name)).map((name) =>
    join(root, "packages", folder, "dist", `${name}.d.ts`)
  )
)

const program = ts.createProgram(files, {
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  target: ts.ScriptTarget.ESNext,
  strict: true,
  noEmit: true,
  skipLibCheck: true,
  types: ["node"],
  typeRoots: [join(root, "node_modules/@types")]
})
const checker = program.getTypeChecker()

const resolve = (symbol: ts.Symbol | undefined): ts.Symbol | undefined =>
  symbol !== undefined && (symbol.flags & ts.SymbolFlags.Alias) !== 0 ? checker.getAliasedSymbol(symbol) : symbol

/** `core/internal/agent/options Asks`: the same for a declaration file and its source. Absent for types of other packages. */
const keyOf = (symbol: ts.Symbol): string | undefined => {
  const file = symbol.declarations?.[0]?.getSourceFile().fileName
  const found = /^packages\/([^/]+)\/(?:dist|src)\/(.*?)(?:\.d)?\.ts$/.exec(
    file === undefined ? "" : relative(root, file)
  )
  return found === null ? undefined : `${found[1]}/${found[2]} ${symbol.name}`
}

const exportsOf = (file: string): ReadonlyArray<ts.Symbol> => {
  const module = checker.getSymbolAtLocation(program.getSourceFile(file)!)
  if (module === undefined) throw new Error(`${file} is no module: build the packages first`)
  return checker.getExportsOfModule(module).map((symbol) => resolve(symbol)!)
}

const exported = files.flatMap(exportsOf)
const exportedKeys = new Set(exported.map(keyOf))

const isInternal = (node: ts.Node): boolean => ts.getJSDocTags(node).some(({ tagName }) => tagName.text === "internal")

const nameIn = (node: ts.Node): ts.Node | undefined => {
  if (ts.isTypeReferenceNode(node)) return node.typeName
  if (ts.isTypeQueryNode(node)) return node.exprName
  if (ts.isExpressionWithTypeArguments(node)) return node.expression
  return ts.isImportTypeNode(node) ? node.qualifier : undefined
}

const isOwnName = (symbol: ts.Symbol): boolean => {
  const declaration = symbol.declarations![0]!
  const { parent } = symbol as ts.Symbol & { readonly parent?: ts.Symbol }
  return (symbol.flags & ts.SymbolFlags.TypeParameter) !== 0 || ts.isParameter(declaration) ||
    (parent !== undefined && exportedKeys.has(keyOf(parent)))
}

/** The type of a value that an interface extends to name it. */
const isNamedType = (name: string): boolean => /(?:Schema|Api)Type$/.test(name)

/** The compiler names the base of a class, and an interface names the type of a schema or of routes: only their parts count. */
const isBase = (key: string, name: ts.Node): boolean =>
  key.endsWith("_base") || isNamedType(key) ||
  (name.parent !== undefined && ts.isTypeQueryNode(name.parent) && ts.isTypeAliasDeclaration(name.parent.parent) &&
    isNamedType(name.parent.parent.name.text))

/** Returns the keys of such types, sorted, each with the first export that names it. */
export const unexportedTypes = (): ReadonlyMap<string, string> => {
  const found = new Map<string, string>()
  const seen = new Set<ts.Symbol>()
  const visit = (node: ts.Node, from: string): void => {
    if (isInternal(node)) return
    const name = nameIn(node)
    const symbol = name && resolve(checker.getSymbolAtLocation(name))
    const key = symbol && keyOf(symbol)
    if (symbol !== undefined && key !== undefined && !exportedKeys.has(key) && !isOwnName(symbol)) {
      if (!isBase(key, name!)) found.set(key, found.get(key) ?? from)
      else if (!seen.has(symbol)) {
        seen.add(symbol)
        for (const declaration of symbol.declarations!) visit(declaration, from)
      }
    }
    ts.forEachChild(node, (child) => visit(child, from))
  }
  for (const symbol of exported) {
    const key = keyOf(symbol)
    if (key !== undefined) { for (const declaration of symbol.declarations!) visit(declaration, key) }
  }
  return new Map([...found].toSorted(([one], [other]) => one < other ? -1 : 1))
}

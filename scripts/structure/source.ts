/** Source files of a checkout, in text and syntax form. */
import { globSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { parseSync, type types as t } from "@babel/core"

export interface Source {
  readonly path: string
  readonly text: string
}

export const sourcesOf = (root: string, pattern: string): ReadonlyArray<Source> =>
  globSync(pattern, { cwd: root, exclude: (name) => name.includes("node_modules") || name.includes("dist") })
    .toSorted()
    .map((path) => ({ path, text: readFileSync(join(root, path), "utf8") }))

/** The text without comments and imports. */
export const codeOf = (text: string): string =>
  text.replaceAll(/^import[^;]*?from "[^"]*"\n/gm, "").replaceAll(/\/\*[\s\S]*?\*\//g, "").replaceAll(/\/\/.*/g, "")

export const parse = (text: string): t.Node =>
  parseSync(text, { configFile: false, babelrc: false, parserOpts: { plugins: ["typescript"] } })!

/** Calls a function for each node. `enclosing` is the name of the outermost declaration around it. */
export const walk = (
  node: t.Node,
  visit: (node: t.Node, enclosing: string | undefined) => void,
  enclosing?: string
): void => {
  visit(node, enclosing)
  const declared = nameOf(node)
  for (const [key, value] of Object.entries(node)) {
    if (key === "loc" || value === null) continue
    for (const child of Array.isArray(value) ? value as ReadonlyArray<unknown> : [value]) {
      if (isNode(child)) walk(child, visit, enclosing ?? declared)
    }
  }
}

const isNode = (value: unknown): value is t.Node =>
  typeof value === "object" && value !== null && "type" in value && typeof value.type === "string" && "start" in value

const nameOf = (node: t.Node): string | undefined =>
  (node.type === "VariableDeclarator" || node.type === "FunctionDeclaration" || node.type === "ClassDeclaration") &&
    node.id?.type === "Identifier"
    ? node.id.name
    : undefined

/** Uses of the public exports in the examples, the documentation and the tests. */
import { globSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { type Declaration, type PublicExport, publicExports } from "./publicDeclarations.ts"

const root = join(import.meta.dirname, "..")

const readers = ["examples/*/{src,test}/**/*.{ts,tsx}", "docs/*.md", "packages/*/test/**/*.ts", "test/**/*.ts"]

const imports = /^import (?:type )?(?:\* as (\w+)|\{([^}]*)\}) from "([^"]+)"/gm

/** Package and module of an import, `core/Agent`; without a module, the package. */
const sourceOf = (from: string, file: string): string | undefined => {
  const [, folder, module] = /^@recourse\/([\w-]+)(?:\/(\w+))?$/.exec(from) ?? []
  if (folder !== undefined) return module === undefined ? folder : `${folder}/${module}`
  const [, own] = /\/src\/(\w+)\.ts$/.exec(from) ?? []
  const near = /(?:^|\/)packages\/([\w-]+)\//.exec(file)?.[1]
  const other = /(?:^|\.\.\/)([\w-]+)\/src\/\w+\.ts$/.exec(from)?.[1]
  const inFolder = other === undefined || other === ".." ? near : other
  return own === undefined || inFolder === undefined ? undefined : own === "index" ? inFolder : `${inFolder}/${own}`
}

/** Modules of a text by their local names: `Agent` is `core/Agent`. Names of the module itself are `core/Agent.make`. */
const namesIn = (text: string, file: string): ReadonlyMap<string, string> => {
  const found = new Map<string, string>()
  for (const [, namespace, names = "", from = ""] of text.matchAll(imports)) {
    const source = sourceOf(from, file)
    if (source === undefined) continue
    if (namespace !== undefined) found.set(namespace, source)
    for (const part of names.split(",").map((name) => name.trim().replace(/^type /, "")).filter(Boolean)) {
      const [name = "", local = name] = part.split(" as ")
      found.set(local, source.includes("/") ? `${source}.${name}` : `${source}/${name}`)
    }
  }
  return found
}

const keyOf = (one: PublicExport): string => `${one.package}/${one.module}.${one.name}`

export interface ExportUse {
  /** `core/Agent.make`. */
  readonly key: string
  readonly uses: number
  readonly declarations: ReadonlyArray<Declaration>
}

/** Returns the public exports with the number of their uses, the most used first. */
export const exportUses = (): ReadonlyArray<ExportUse> => {
  const all = publicExports()
  const counts = new Map(all.map((one) => [keyOf(one), 0]))
  const count = (key: string): void => {
    const before = counts.get(key)
    if (before !== undefined) counts.set(key, before + 1)
  }
  for (const file of globSync(readers, { cwd: root, exclude: ["**/node_modules/**", "test/doc-examples/**"] })) {
    const text = readFileSync(join(root, file), "utf8")
    const names = namesIn(text, file)
    const body = text.replaceAll(imports, "")
    for (const [, name = "", member] of body.matchAll(/(?<![.\w])([A-Za-z]\w*)\b(?:\.(\w+))?/g)) {
      const source = names.get(name)
      if (source !== undefined) count(source.includes(".") ? source : `${source}.${member}`)
    }
  }
  return all
    .map((one) => ({ key: keyOf(one), uses: counts.get(keyOf(one))!, declarations: one.declarations }))
    .toSorted((a, b) => b.uses - a.uses || (a.key < b.key ? -1 : 1))
}

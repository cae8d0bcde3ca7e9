/**
 * Imports of modules that npm does not install with a package: an optional peer, or no dependency at all. A source file
 * may name an optional peer in a type, or load it by `import()` when it is used; an emitted declaration may not name
 * it.
 */
import { globSync, readFileSync } from "node:fs"
import { builtinModules } from "node:module"
import { join } from "node:path"

interface Manifest {
  readonly name: string
  readonly dependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>
}

/** A statement at the start of a line. Examples in doc comments are indented by ` * `. */
const statement = /^(?:import|export)\s+(?!type\b)(?:[^"'`;=()]*?from\s*)?["']([^"']+)["']/gm
const anyReference = /(?:from\s*|import\s*\(\s*|^import\s+|<reference types=)["']([^"']+)["']/gm
const comments = /\/\*[^]*?\*\//g

const packageOf = (specifier: string): string =>
  specifier.split("/").slice(0, specifier.startsWith("@") ? 2 : 1).join("/")

/** The packages, out of those that the text imports, which npm installs with this one only by chance. */
const notInstalled = (manifest: Manifest, specifiers: Iterable<string>): ReadonlyArray<string> => {
  const isOptional = (name: string): boolean => manifest.peerDependenciesMeta?.[name]?.optional === true
  const installed = new Set([
    manifest.name,
    ...Object.keys(manifest.dependencies ?? {}),
    ...Object.keys(manifest.peerDependencies ?? {}).filter((name) => !isOptional(name))
  ])
  return [...specifiers].filter((specifier) =>
    !specifier.startsWith(".") && !specifier.startsWith("node:") && !builtinModules.includes(specifier) &&
    !installed.has(packageOf(specifier))
  )
}

const matches = (pattern: RegExp, text: string): ReadonlyArray<string> =>
  [...text.matchAll(pattern)].map(([, specifier]) => specifier!)

/** Packages that a source file imports as values when it loads. */
export const importedPackages = (source: string): ReadonlyArray<string> => matches(statement, source).map(packageOf)

/** Specifiers that a source file imports as values when it loads, without those that npm installs. */
export const valueImports = (manifest: Manifest, source: string): ReadonlyArray<string> =>
  notInstalled(manifest, matches(statement, source))

/** Specifiers that a declaration file names, without those that npm installs. */
export const declaredImports = (manifest: Manifest, declaration: string): ReadonlyArray<string> =>
  notInstalled(manifest, matches(anyReference, declaration.replaceAll(comments, "")))

/** One sentence for each import in the sources and the built declarations of a package's folder. */
export const problemsOf = (folder: string): ReadonlyArray<string> => {
  const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest
  const problems = (pattern: string, imports: typeof valueImports, use: string) =>
    globSync(pattern, { cwd: folder }).toSorted().flatMap((file) =>
      imports(manifest, readFileSync(join(folder, file), "utf8")).map((specifier) =>
        `${manifest.name}: ${file} ${use} "${specifier}", which is not installed with the package.`
      )
    )
  return [
    ...problems("src/**/*.{ts,tsx}", valueImports, "imports"),
    ...problems("dist/**/*.d.ts", declaredImports, "declares types of")
  ]
}

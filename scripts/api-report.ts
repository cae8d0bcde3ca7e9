/**
 * The public surface of each package as text: `packages/<name>/api.txt`, made from the compiler's declarations.
 *
 * `pnpm api` writes the reports. `pnpm api:check` fails if one differs from the present surface, so that a change of
 * the public surface is visible in review. Left out: members marked `@internal`, documentation, modules that `exports` closes, and the
 * `message` of errors, which each has.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join, normalize } from "node:path"
import { publicModules } from "./publicModules.ts"

const root = join(import.meta.dirname, "..")
const check = process.argv.includes("--check")

const comment = /\/\*\*(?:(?!\*\/)[\s\S])*\*\/\s*/g

/** Returns the end of the declaration that starts at an index. */
const endOfDeclaration = (text: string, start: number): number => {
  const isBlock = /^export (?:declare )?(?:abstract )?(?:interface|class)\b/.test(text.slice(start, start + 40))
  let depth = 0
  for (let i = start; i < text.length; i++) {
    const char = text[i]!
    if ("([{".includes(char)) depth++
    else if (")]}".includes(char)) depth--
    if (depth < 0) return i
    if (depth === 0 && (char === ";" || (isBlock && char === "}"))) return i + 1
  }
  return text.length
}

/** Declarations without internal members and documentation. */
const bare = (text: string): string => {
  let result = ""
  let from = 0
  for (const found of text.matchAll(comment)) {
    if (found.index < from) continue
    result += text.slice(from, found.index)
    from = found.index + found[0].length
    if (found[0].includes("@internal")) from = endOfDeclaration(text, from)
  }
  return `${result}${text.slice(from)}`.replaceAll(/^\/\/# .*$/gm, "").replaceAll(/^ +get message\(\): string;$/gm, "")
    .replaceAll(/\n[ \n]*\n/g, "\n").replaceAll(/\{\n\}/g, "{}")
}

/** Top-level statements; each begins at the start of a line with a keyword. */
const statements = (text: string): ReadonlyArray<string> =>
  bare(text).split(/\n(?=(?:export|import|declare|interface|type|const|class|function) )/).map((part) => part.trim())
    .filter(Boolean)

const nameOf = (statement: string): string | undefined =>
  /^export (?:declare )?(?:abstract )?(?:const|let|type|interface|class|function) ([A-Za-z_$][\w$]*)/.exec(statement)
    ?.[1]

const moduleAt = (dist: string, from: string, path: string): string =>
  normalize(join(dist, dirname(from), path)).slice(dist.length + 1).replace(/\.(ts|js)$/, "")

/** Exports of a module, by name: the text of the declarations. */
const exportsOf = (dist: string, module: string): ReadonlyMap<string, string> => {
  const found = new Map<string, string>()
  const add = (name: string, text: string) => found.set(name, found.has(name) ? `${found.get(name)}\n${text}` : text)
  for (const statement of statements(readFileSync(join(dist, `${module}.d.ts`), "utf8"))) {
    const own = nameOf(statement)
    if (own !== undefined) {
      add(own, statement.replace(/^export (declare )?/, ""))
      continue
    }
    const [, namespace, names, path] =
      /^export (?:type )?(?:\* as (\w+)|\{([^}]*)\}|\*) from "([^"]+)"/.exec(statement) ?? []
    if (path === undefined) continue
    if (namespace !== undefined) {
      add(namespace, `namespace of ${path}`)
      continue
    }
    const from = path.startsWith(".") ? exportsOf(dist, moduleAt(dist, module, path)) : undefined
    if (names === undefined) {
      for (const [name, text] of from ?? []) add(name, text)
      continue
    }
    for (const part of names.split(",").map((item) => item.trim().replace(/^type /, "")).filter(Boolean)) {
      const [name = "", as = name] = part.split(" as ")
      // Unexported parts of our own modules are internal.
      const text = from === undefined ? `from ${path}` : from.get(name)
      if (text !== undefined) add(as, text)
    }
  }
  return found
}

let stale = 0
for (const name of readdirSync(join(root, "packages")).toSorted()) {
  const dist = join(root, "packages", name, "dist")
  if (!existsSync(dist)) continue
  const text = publicModules(name).flatMap((module) => {
    const lines = [...exportsOf(dist, module)].toSorted(([a], [b]) => a < b ? -1 : 1).map(([, text]) => text)
    return lines.length === 0 ? [] : [`# ${module}\n\n${lines.join("\n")}\n`]
  }).join("\n")
  const path = join(root, "packages", name, "api.txt")
  if (existsSync(path) && readFileSync(path, "utf8") === text) continue
  if (check) {
    stale++
    process.stdout.write(
      `packages/${name}/api.txt differs from the public surface of now: run pnpm api and look at the difference\n`
    )
  } else writeFileSync(path, text)
}
process.exitCode = stale === 0 ? 0 : 1

/**
 * Layout of a package: words, rooms and doors.
 *
 * A word is a public module that defines terms; it imports words and the checks of options only. A room is a folder of `src/internal`; it imports
 * words and the rooms that its entry names. A door is a public module that opens rooms; no room imports one.
 */
import { globSync, readFileSync } from "node:fs"
import { dirname, join, normalize } from "node:path"

interface Room {
  readonly holds: string
  readonly not: string
  readonly mayImport: ReadonlyArray<string>
}

export interface Layout {
  /** Folder of the package. */
  readonly package: string
  /** The rooms, from the ground up. */
  readonly rooms: Readonly<Record<string, Room>>
  readonly words: ReadonlySet<string>
}

/** Returns the room of a module; `undefined` for public modules. */
const roomOf = (module: string): string | undefined => /^internal\/([^/]+)\//.exec(module)?.[1]

/** Returns what is wrong with an import. */
const problemOf = ({ rooms, words }: Layout, from: string, to: string): string | undefined => {
  const room = roomOf(from)
  const target = roomOf(to)
  if (room === undefined) {
    const isOption = to.startsWith("internal/foundation/options/")
    return words.has(from) && !words.has(to) && !isOption
      ? "a word imports words and checks of options only"
      : undefined
  }
  const rule = rooms[room]
  if (rule === undefined) return `${room} is not a room`
  if (target === undefined) return words.has(to) ? undefined : "no room imports a door"
  return target === room || rule.mayImport.includes(target) ? undefined : `${room} may not import ${target}`
}

/** Lists of exports, and commands, have no entry in the lists. */
const isListed = (file: string): boolean => file !== "index.ts" && file !== "bin.ts"

/** The first sentence of a file's header. */
const headerOf = (code: string): string => {
  const [, header = ""] = /^\/\*\*([\s\S]*?)\*\//.exec(code) ?? []
  return /^.*?(?:\.(?= )|$)/.exec(header.replaceAll(/\s*\n \*/g, " ").trim().replaceAll(/\s+/g, " "))?.[0] ?? ""
}

export interface Checked {
  /** What breaks the layout. */
  readonly problems: ReadonlyArray<string>
  /** Generated lists by name. */
  readonly lists: Readonly<Record<string, string>>
}

/** Checks the imports of a package, and lists its rooms and files. */
export const checkLayout = (root: string, layout: Layout): Checked => {
  const { rooms, words } = layout
  const folder = `packages/${layout.package}/src`
  const src = join(root, folder)
  const files = globSync("**/*.ts", { cwd: src }).map((file) => file.replaceAll("\\", "/")).toSorted()
  const headers = new Map(files.map((file) => [file, headerOf(readFileSync(join(src, file), "utf8"))]))
  const imports = files.flatMap((file) => {
    const from = file.replace(/\.ts$/, "")
    const code = readFileSync(join(src, file), "utf8").replaceAll(/\/\*[\s\S]*?\*\//g, "")
    return [...code.matchAll(/(?:from |import\(|import )"(\.[^"]+)\.ts"/g)].flatMap(([, path = ""]) => {
      const problem = problemOf(layout, from, normalize(join(dirname(from), path)).replaceAll("\\", "/"))
      return problem === undefined ? [] : [`${layout.package} ${from} -> ${path}: ${problem}`]
    })
  })
  const listOf = (named: ReadonlyArray<string>, label: (file: string) => string): string =>
    named.map((file) => `- [\`${label(file)}\`](../${folder}/${file}): ${headers.get(file)}`).join("\n")
  const isWord = (file: string): boolean => words.has(file.slice(0, -3))
  const about = ({ holds, mayImport, not }: Room): string =>
    `Holds ${holds}. Not: ${not}. Imports ${mayImport.join(", ") || "no room"}.`
  const named = Object.entries(rooms).toReversed()
  return {
    problems: [
      ...imports,
      ...files.filter((file) => isListed(file) && headers.get(file) === "").map((file) => `${file} has no header`)
    ],
    lists: {
      [`${layout.package} rooms`]: named.map(([name, room]) =>
        `### ${name}\n\n${about(room)}\n\n${
          listOf(files.filter((file) => roomOf(file) === name), (file) => file.split("/").at(-1)!)
        }`
      ).join("\n\n"),
      [`${layout.package} words`]: listOf(files.filter(isWord), (file) => file),
      [`${layout.package} doors`]: listOf(
        files.filter((file) => roomOf(file) === undefined && isListed(file) && !isWord(file)),
        (file) => file
      )
    }
  }
}

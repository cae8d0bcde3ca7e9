/** Collects the declaration files that programs of the page need: those of the packages, of their imports, and of the language. */
import { existsSync, readFileSync, realpathSync, statSync } from "node:fs"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import ts from "typescript-5"
import { type Archive, options } from "./compiler.ts"

/** Returns the folder of a package, as another package sees it. */
const folderOf = (name: string, from: string): string | undefined => {
  for (let at = from; at !== dirname(at); at = dirname(at)) {
    const folder = join(at, "node_modules", name)
    if (existsSync(folder)) return realpathSync(folder)
  }
  return undefined
}

/** A manifest with the parts that the resolution of modules reads. A published package has other exports than its folder. */
const manifestOf = (folder: string): string => {
  const { exports, name, publishConfig, type, types, version } = JSON.parse(
    readFileSync(join(folder, "package.json"), "utf8")
  )
  return JSON.stringify({ name, version, type, types, exports: publishConfig?.exports ?? exports })
}

const printer = ts.createPrinter({ removeComments: true })

/** Comments are three quarters of the files. */
const withoutComments = (path: string, content: string): string =>
  path.endsWith(".json") ? content : printer.printFile(ts.createSourceFile(path, content, options.target!))

/** Collects the files that the compiler reads for some imports. */
export const makeArchive = (root: string, imports: ReadonlyArray<string>): Archive => {
  const lib = dirname(createRequire(import.meta.url).resolve("typescript-5/lib/typescript.js"))
  const packages = new Map<string, string | undefined>()
  const read = new Map<string, string>()
  const text = imports.map((name, index) => `export * as m${index} from "${name}"`).join("\n")

  /** The file of the disk behind a path of the archive. */
  const fileOf = (path: string): string | undefined => {
    if (path.startsWith("/lib/")) return join(lib, path.slice("/lib/".length))
    const [, name, rest] = /^\/node_modules\/((?:@[^/]+\/)?[^/]+)(.*)$/.exec(path) ?? []
    // Every package is at the top: it has no folder of its own imports.
    if (name === undefined || rest!.includes("/node_modules/")) return undefined
    if (!packages.has(name)) {
      const owners = [root, ...[...packages.values()].filter((folder) => folder !== undefined)]
      packages.set(name, owners.map((owner) => folderOf(name, owner!)).find((folder) => folder !== undefined))
    }
    const folder = packages.get(name)
    return folder === undefined ? undefined : join(folder, rest!)
  }
  const isFile = (path: string): boolean => {
    const file = fileOf(path)
    return file !== undefined && existsSync(file) && statSync(file).isFile()
  }
  const readFile = (path: string): string | undefined => {
    if (path === "/program/imports.ts") return text
    if (!isFile(path)) return undefined
    const file = fileOf(path)!
    const content = path.endsWith("/package.json") ? manifestOf(dirname(file)) : readFileSync(file, "utf8")
    if (path.endsWith(".d.ts") || path.endsWith("/package.json")) read.set(path, content)
    return content
  }
  const host: ts.CompilerHost = {
    ...ts.createCompilerHost(options),
    fileExists: (path) => path === "/program/imports.ts" || isFile(path),
    readFile,
    directoryExists: (path) => {
      const folder = fileOf(path)
      return folder === undefined ? path === "/" || path === "/node_modules" || path === "/program" : existsSync(folder)
    },
    getSourceFile: (path, target) => {
      const content = readFile(path)
      return content === undefined ? undefined : ts.createSourceFile(path, content, target)
    },
    getCurrentDirectory: () => "/program",
    getDefaultLibLocation: () => "/lib",
    getDefaultLibFileName: () => "/lib/lib.es2023.full.d.ts",
    realpath: (path) => path,
    getDirectories: () => []
  }
  const program = ts.createProgram(["/program/imports.ts"], options, host)
  const [problem] = program.getSemanticDiagnostics(program.getSourceFile("/program/imports.ts"))
  if (problem !== undefined) throw new Error(ts.flattenDiagnosticMessageText(problem.messageText, "\n"))
  return Object.fromEntries([...read].map(([path, content]) => [path, withoutComments(path, content)]))
}

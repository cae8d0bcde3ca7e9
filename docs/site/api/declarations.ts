/** Declarations of the public modules as the compiler prints them, from the packages' `api.txt`. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { root } from "../markdown.ts"

const start = /^(?:abstract )?(?:interface|type|class|const|let|function) ([A-Za-z_$][\w$]*)/

/** Returns the declarations of a package, by module and name. A name may be a value and a type. */
export const declarationsOf = (folder: string): ReadonlyMap<string, ReadonlyMap<string, ReadonlyArray<string>>> => {
  const modules = new Map<string, Map<string, Array<string>>>()
  let current: Map<string, Array<string>> = new Map()
  let lines: Array<string> = []
  const readLine = (line: string): void => {
    const [, module] = /^# (\w+)$/.exec(line) ?? []
    const [, name] = start.exec(line) ?? []
    if (module !== undefined) {
      current = new Map()
      modules.set(module, current)
    } else if (name !== undefined) {
      lines = [line]
      const declarations = current.get(name) ?? []
      declarations.push("")
      current.set(name, declarations)
      add = () => void (declarations[declarations.length - 1] = lines.join("\n").trimEnd())
    } else lines.push(line)
    add()
  }
  let add = (): void => {}
  for (const line of readFileSync(join(root, "packages", folder, "api.txt"), "utf8").split("\n")) readLine(line)
  return modules
}

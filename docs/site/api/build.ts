/**
 * Writes the pages of the API to `docs/.api`: one for each public module, and one with the options of all. Nothing is written
 * if neither a source nor this generator has changed.
 */
import { createHash } from "node:crypto"
import { existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { Reflection } from "typedoc"
import { root } from "../markdown.ts"

const target = join(root, "docs/.api")

const digest = (): string => {
  const hash = createHash("sha256")
  const files = globSync(["packages/*/src/**/*.ts", "packages/*/api.txt", "docs/site/api/*.ts"], { cwd: root })
  for (const file of files.toSorted()) hash.update(file).update(readFileSync(join(root, file)))
  return hash.digest("hex")
}

/** Builds the pages, if they are not those of now. */
export const buildApi = async (): Promise<void> => {
  const mark = join(target, ".digest")
  const now = digest()
  if (existsSync(mark) && readFileSync(mark, "utf8") === now) return
  rmSync(target, { recursive: true, force: true })
  mkdirSync(target, { recursive: true })
  // TypeDoc takes a second to load.
  const { convert } = await import("./convert.ts")
  const { renderModule } = await import("./render.ts")
  const { renderOptions } = await import("./options.ts")
  const { declarationsOf } = await import("./declarations.ts")
  const { modules } = await convert()
  const pages = new Map<Reflection, string>(
    modules.flatMap(({ folder, name, reflection }) => [
      [reflection, `${folder}/${name}.md`] as const,
      ...(reflection.children ?? []).map((child) =>
        [child, `${folder}/${name}.md#${child.name.toLowerCase()}`] as const
      )
    ])
  )
  for (const [folder, all] of Map.groupBy(modules, (module) => module.folder)) {
    mkdirSync(join(target, folder), { recursive: true })
    const declarations = declarationsOf(folder)
    for (const module of all) {
      const page = renderModule(module, declarations.get(module.name), (reflection) => {
        const link = pages.get(reflection)
        return link === undefined ? undefined : `../${link}`
      })
      writeFileSync(join(target, folder, `${module.name}.md`), page)
    }
  }
  const options = renderOptions(modules, (reflection) => pages.get(reflection))
  writeFileSync(join(target, "options.md"), options.page)
  writeFileSync(join(target, "options.json"), JSON.stringify(options.all))
  writeFileSync(mark, now)
}

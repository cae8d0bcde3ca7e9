/** The public modules of all packages as TypeDoc reads them. */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { Application, type DeclarationReflection, type ProjectReflection } from "typedoc"
import { publicModules } from "../../../scripts/publicModules.ts"
import { root } from "../markdown.ts"
import { folders } from "./packages.ts"

export interface Module {
  readonly folder: string
  readonly name: string
  readonly reflection: DeclarationReflection
}

const pathOf = (folder: string, name: string): string => join(root, "packages", folder, "src", `${name}.ts`)

/** Returns each public module but the barrels. A package with one module only has that. */
export const convert = async (): Promise<{ project: ProjectReflection; modules: ReadonlyArray<Module> }> => {
  const names = folders.flatMap((folder) =>
    publicModules(folder).filter((name) => name !== "index" && !/[bB]in$/.test(name)).map((name) => ({ folder, name }))
  )
  const entryPoints = names.map(({ folder, name }) => pathOf(folder, name))
  const tsconfig = join(root, "docs/.api/tsconfig.json")
  const compilerOptions = { noEmit: true, types: ["node"], typeRoots: [join(root, "node_modules/@types")] }
  writeFileSync(
    tsconfig,
    JSON.stringify({ extends: "../../tsconfig.base.json", compilerOptions, files: entryPoints })
  )
  const app = await Application.bootstrap({
    entryPoints,
    tsconfig,
    excludeExternals: true,
    excludeInternal: true,
    excludePrivate: true,
    skipErrorChecking: true,
    sort: ["source-order"],
    logLevel: "Error"
  })
  const project = await app.convert()
  if (project === undefined) throw new Error("TypeDoc could not read the packages")
  const byPath = new Map(project.children?.map((child) => [child.sources?.[0]?.fullFileName as string, child]))
  const modules = names.map(({ folder, name }) => {
    const reflection = byPath.get(pathOf(folder, name))
    if (reflection === undefined) throw new Error(`TypeDoc has no module ${folder}/${name}`)
    return { folder, name, reflection }
  })
  return { project, modules }
}

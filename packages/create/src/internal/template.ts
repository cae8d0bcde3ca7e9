/** The template: a project that is tested in the repository, of which a new project is a copy. */
import { readdirSync, readFileSync } from "node:fs"
import { join, relative } from "node:path"
import { fileURLToPath } from "node:url"
import type { Options } from "./options.ts"

const folder = fileURLToPath(new URL("../../template", import.meta.url))

interface Manifest {
  readonly name: string
  readonly scripts: Readonly<Record<string, string>>
  readonly dependencies: Readonly<Record<string, string>>
}

/** Parts of the project with a server only. */
const ofServer = {
  files: ["src/server.ts", "src/service.ts", "test/service.test.ts"],
  scripts: ["serve"],
  dependencies: ["@recourse/durable", "@recourse/sql"]
}

/** npm leaves `.gitignore` out of packages. */
const nameOf = (path: string): string => path === "_gitignore" ? ".gitignore" : path

const read = (path: string): string => readFileSync(join(folder, path), "utf8")

const without = (record: Readonly<Record<string, string>>, keys: ReadonlyArray<string>) =>
  Object.fromEntries(Object.entries(record).filter(([key]) => !keys.includes(key)))

/** All packages of Recourse have one version. */
const ownVersion = (): string => (JSON.parse(read("../package.json")) as { readonly version: string }).version

const manifest = (text: string, { name, server }: Options): string => {
  const template = JSON.parse(text) as Manifest
  const dependencies = Object.entries(without(template.dependencies, server ? [] : ofServer.dependencies))
    .map(([dependency, range]) => [dependency, range.replace("workspace:", "") === "^" ? `^${ownVersion()}` : range])
  return `${
    JSON.stringify(
      {
        ...template,
        name,
        scripts: without(template.scripts, server ? [] : ofServer.scripts),
        dependencies: Object.fromEntries(dependencies) as unknown
      },
      undefined,
      2
    )
  }\n`
}

const section = /<!-- server -->\n([^]*?)<!-- \/server -->\n/g

const readme = (text: string, { name, server }: Options): string =>
  text.replace("# my-agent\n", `# ${name}\n`).replaceAll(section, server ? "$1" : "")
    .replaceAll(/\n{3,}/g, "\n\n").replace(/\n+$/, "\n")

/** Returns the files of a project that are copied, by path. */
export const filesOf = (options: Options): ReadonlyMap<string, string> => {
  const paths = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).replaceAll("\\", "/"))
    .filter((path) => !path.startsWith("node_modules/"))
    .filter((path) => options.server || !ofServer.files.includes(path))
    .toSorted()
  return new Map(paths.map((path) => {
    const text = read(path)
    if (path === "package.json") return [path, manifest(text, options)]
    return [nameOf(path), path.endsWith(".md") ? readme(text, options) : text]
  }))
}

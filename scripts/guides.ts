/** Guides for users: the pages of `docs` that packages ship and that llms.txt lists. */
import { globSync, readdirSync, readFileSync } from "node:fs"
import { dirname, join, relative } from "node:path"

export const root = join(import.meta.dirname, "..")

/** Pages for contributors. */
const forContributors = new Set([
  "architecture",
  "core-files",
  "durable-files",
  "glossary",
  "maps",
  "performance",
  "recipes",
  "the-way-of-a-call"
])

/** Guides of a package. The core has all of them. */
const guidesOf: Readonly<Record<string, ReadonlyArray<string>>> = {
  "ai-sdk": ["real-models"],
  create: ["quickstart", "template"],
  durable: ["deploy", "durable", "durable-hosts", "hosts-measured", "new-versions", "sizing"],
  "json-repair": ["presets"],
  langchain: ["adapters", "coming-from-langchain"],
  mastra: ["adapters", "coming-from-mastra"],
  mcp: ["mcp"],
  "openai-agents": ["adapters", "coming-from-openai-agents"],
  "openai-compatible": ["real-models", "wire-faults"],
  server: ["client-tools", "deploy", "server", "server-fields"],
  sql: ["sizing"],
  studio: ["studio"],
  testing: ["evaluation", "faults", "replay", "testing"]
}

/** Names of all guides for users, sorted. */
export const guides = (): ReadonlyArray<string> =>
  globSync("docs/*.md", { cwd: root }).map((path) => path.slice("docs/".length, -".md".length))
    .filter((name) => !forContributors.has(name)).toSorted()

/** Folders of the packages that are published, sorted. */
export const publishedFolders = (): ReadonlyArray<string> =>
  readdirSync(join(root, "packages")).toSorted().filter((folder) => {
    const text = readFileSync(join(root, "packages", folder, "package.json"), "utf8")
    return (JSON.parse(text) as { readonly private?: boolean }).private !== true
  })

/** Names of the guides that a package ships. */
export const shippedGuides = (folder: string): ReadonlyArray<string> =>
  folder === "core" ? guides() : guidesOf[folder] ?? []

const repository = "https://github.com/recourse-ts/recourse/blob/main/"

const link = /(\]\()(?!https?:|#|mailto:)([^)#\s]+)(#[^)\s]*)?(\))/g

/** Returns a page of the repository whose links to files that `isNear` refuses lead to the repository on the web. */
export const withWebLinks = (page: string, text: string, isNear: (path: string) => boolean): string =>
  withLinks(page, text, (path) => isNear(path) ? undefined : repository + path)

/** Returns a page of the repository with other link targets. A link without one stays. */
const withLinks = (page: string, text: string, targetOf: (path: string) => string | undefined): string =>
  text.replaceAll(link, (whole, open: string, target: string, anchor: string | undefined, close: string) => {
    const other = targetOf(relative(root, join(root, dirname(page), target)).replaceAll("\\", "/"))
    return other === undefined ? whole : `${open}${other}${anchor ?? ""}${close}`
  })

/** Whether the package is installed next to the core, which ships all guides. */
const isNextToCore = (folder: string): boolean => {
  const text = readFileSync(join(root, "packages", folder, "package.json"), "utf8")
  const { peerDependencies = {} } = JSON.parse(text) as { readonly peerDependencies?: Readonly<Record<string, string>> }
  return peerDependencies["@recourse/core"] !== undefined
}

/**
 * Returns a guide for the `docs` of a package. Links lead to its own guides, then to those of the installed core, then to the
 * repository on the web.
 */
export const shippedText = (folder: string, name: string): string => {
  const own = new Set(shippedGuides(folder).map((guide) => `docs/${guide}.md`))
  const ofCore = new Set(isNextToCore(folder) ? guides().map((guide) => `docs/${guide}.md`) : [])
  const page = `docs/${name}.md`
  return withLinks(page, readFileSync(join(root, page), "utf8"), (path) => {
    if (own.has(path)) return undefined
    return ofCore.has(path) ? `../../core/${path}` : repository + path
  })
}

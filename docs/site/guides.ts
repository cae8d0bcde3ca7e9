/** Loader of the site's pages: the repository's own Markdown files, and the generated pages of the API. */
import type { Loader, LoaderContext } from "astro/loaders"
import { globSync, readFileSync } from "node:fs"
import { join, relative } from "node:path"
import { pathToFileURL } from "node:url"
import { frontPage } from "./frontPage.ts"
import { readPage, root, routeOf } from "./markdown.ts"
import { shelves } from "./shelves.ts"

const patterns = ["README.md", "docs/*.md", "docs/decisions/**/*.md", "docs/.api/**/*.md"]

const contributors = new Set(
  shelves().filter(({ title }) => title === "Contribute").flatMap(({ pages }) => pages.map(({ file }) => file))
)

/** Names the blocks of code, which the theme makes regions if they are wide, and lets the keyboard scroll wide tables. */
const withNames = (html: string): string => {
  let count = 0
  return html.replaceAll("<pre data-language=", () => `<pre aria-label="Code ${++count}" data-language=`)
    .replaceAll("<table>", "<table tabindex=\"0\">")
}

/** The API is found below the guides, unless its title has the words. */
const withWeight = (html: string, file: string): string =>
  file.startsWith("docs/.api/") ? `<div data-pagefind-weight="0.2">${html}</div>` : html

/** Readers who search have a question about the use of the library. */
const isForContributors = (file: string): boolean => contributors.has(file) || file.startsWith("docs/decisions/")

const load = async (context: LoaderContext, file: string): Promise<void> => {
  const { base } = context.config
  const contents = readFileSync(join(root, file), "utf8")
  const route = routeOf(file)!
  const { text, ...data } = file === "README.md"
    ? frontPage(contents, base)
    : { ...readPage(file, contents, base), ...(isForContributors(file) ? { pagefind: false } : {}) }
  const id = route === "" ? "index" : route
  const rendered = await context.renderMarkdown(text, { fileURL: pathToFileURL(join(root, file)) })
  context.store.set({
    id,
    data: await context.parseData({ id, data }),
    body: text,
    filePath: relative(join(root, "docs"), join(root, file)),
    digest: context.generateDigest(contents),
    rendered: { ...rendered, html: withWeight(withNames(rendered.html), file) },
    assetImports: (rendered.metadata?.["imagePaths"] ?? []) as Array<string>
  })
}

export const guides: Loader = {
  name: "guides",
  load: async (context) => {
    context.store.clear()
    for (const file of globSync(patterns, { cwd: root }).toSorted()) await load(context, file)
    context.watcher?.add(patterns.map((pattern) => join(root, pattern.replace(/\*.*$/, ""))))
    context.watcher?.on("change", (path) => {
      const file = relative(root, path)
      if (file.endsWith(".md") && routeOf(file) !== undefined) void load(context, file)
    })
  }
}

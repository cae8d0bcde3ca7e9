/** Copies guides into the `docs` of the packages that ship them. Links lead to pages there, or to the repository on the web. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { publishedFolders, root, shippedGuides, withWebLinks } from "./guides.ts"

for (const folder of publishedFolders()) {
  const target = join(root, "packages", folder, "docs")
  rmSync(target, { recursive: true, force: true })
  mkdirSync(target, { recursive: true })
  const shipped = new Set(shippedGuides(folder).map((name) => `docs/${name}.md`))
  for (const page of shipped) {
    const text = readFileSync(join(root, page), "utf8")
    writeFileSync(join(target, page.slice("docs/".length)), withWebLinks(page, text, (path) => shipped.has(path)))
  }
}

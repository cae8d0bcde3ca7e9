/** Copies guides into the `docs` of the packages that ship them. Links lead to installed guides, or to the repository on the web. */
import { mkdirSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { publishedFolders, root, shippedGuides, shippedText } from "./guides.ts"

for (const folder of publishedFolders()) {
  const target = join(root, "packages", folder, "docs")
  rmSync(target, { recursive: true, force: true })
  mkdirSync(target, { recursive: true })
  for (const name of shippedGuides(folder)) writeFileSync(join(target, `${name}.md`), shippedText(folder, name))
}

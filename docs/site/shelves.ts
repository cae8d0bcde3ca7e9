/** The shelves of the site: the guides in the order of the repository's README, which is the one list of them. */
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { root, routeOf } from "./markdown.ts"

export interface Shelf {
  readonly title: string
  readonly pages: ReadonlyArray<{ readonly label: string; readonly file: string; readonly route: string }>
}

/** Returns the shelves of a README: below its heading "Guides" each line in bold is a shelf, and each link to a guide a page of it. */
export const shelvesOf = (readme: string): ReadonlyArray<Shelf> => {
  const [, list = ""] = /^## Guides\n([^]*?)(?=^## |(?![^]))/m.exec(readme) ?? []
  return list.split(/^\*\*(?=.*\*\*$)/m).slice(1).map((part) => {
    const [title = ""] = part.split("**")
    const links = [...part.matchAll(/\[([^\]]+)\]\((docs\/[^)#]+\.md)\)/g)]
    return {
      title,
      pages: links.map(([, label = "", file = ""]) => ({
        label: label.charAt(0).toUpperCase() + label.slice(1),
        file,
        route: routeOf(file)!
      }))
    }
  })
}

/** Returns the shelves of this repository. A page that is not written is not on its shelf. */
export const shelves = (): ReadonlyArray<Shelf> =>
  shelvesOf(readFileSync(join(root, "README.md"), "utf8")).map(({ pages, title }) => ({
    title,
    pages: pages.filter(({ file }) => existsSync(join(root, file)))
  }))

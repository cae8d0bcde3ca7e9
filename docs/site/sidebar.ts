/** The sidebar: the shelves, with the pages of the API on "Reference", and the playground on "Start". */
import { existsSync, globSync } from "node:fs"
import { basename, join } from "node:path"
import { folders } from "./api/packages.ts"
import { root, routeOf } from "./markdown.ts"
import { shelves } from "./shelves.ts"

/** True if the workspace has a playground, which has been built. */
export const hasPlayground = (): boolean => existsSync(join(root, "docs/public/playground/index.html"))

const api = () =>
  folders.flatMap((folder) => {
    const files = globSync(`docs/.api/${folder}/*.md`, { cwd: root }).toSorted()
    return files.length === 0 ? [] : [{
      label: `@recourse/${folder}`,
      collapsed: true,
      items: files.map((file) => ({ label: basename(file, ".md"), slug: routeOf(file)! }))
    }]
  })

const options = () => existsSync(join(root, "docs/.api/options.md")) ? [{ label: "Options", slug: "api/options" }] : []

export const sidebar = () =>
  shelves().map(({ pages, title }) => ({
    label: title,
    collapsed: title === "Contribute",
    items: [
      ...pages.map(({ label, route }) => ({ label, slug: route })),
      ...(title === "Start" && hasPlayground() ? [{ label: "Playground", link: "/playground/" }] : []),
      ...(title === "Reference" ? [...options(), ...api()] : [])
    ]
  }))

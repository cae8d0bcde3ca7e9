/**
 * A page of the repository as a page of the site: its title, and its text with the links that the site has.
 *
 * The pages are written for readers of the repository, so their links lead from file to file. Here a link to another page
 * becomes its route, and a link to any other file the file's address on GitHub. Pictures stay relative.
 */
import { existsSync, statSync } from "node:fs"
import { dirname, join, posix, relative } from "node:path"

export const root = join(import.meta.dirname, "../..")

/** Address of the repository's files. */
const repository = "https://github.com/recourse-ts/recourse"

/** Returns the route of a Markdown file, relative to the root of the repository; undefined if it is no page of the site. */
export const routeOf = (file: string): string | undefined => {
  if (file === "README.md") return ""
  const [, name] = /^docs\/(?:\.api\/)?([^.]+)\.md$/.exec(file) ?? []
  if (name === undefined) return undefined
  const route = name.replace(/(?:^|\/)(?:README|index)$/, "").toLowerCase()
  return file.startsWith("docs/.api/") ? posix.join("api", route) : route
}

/** Returns the address of a link of a page: a route of the site, or a file on GitHub. */
const addressOf = (file: string, link: string, base: string): string => {
  const [path = "", anchor] = link.split("#")
  if (path === "" || /^[a-z]+:/.test(link)) return link
  if (path.startsWith("playground/")) return `${base}${link}`
  const target = relative(root, join(root, dirname(file), decodeURIComponent(path)))
  const isFolder = existsSync(join(root, target)) && statSync(join(root, target)).isDirectory()
  const route = routeOf(isFolder ? `${target}/README.md` : target)
  const suffix = anchor === undefined ? "" : `#${anchor}`
  // The front page has only the first part of the README.
  if (route === undefined || (route === "" && suffix !== "")) {
    return `${repository}/${isFolder ? "tree" : "blob"}/main/${target}${suffix}`
  }
  return `${base}${route}${route === "" ? "" : "/"}${suffix}`
}

/** A fence, code within a line, or a link: whichever begins first. A label may contain code and a picture. */
const codeOrLink = /^( *)(`{3,})[^]*?^\1\2 *$|`[^`\n]+`|(!?)\[((?:`[^`\n]+`|\[[^\]]*\]|[^[\]`])*)\]\(([^)\s]+)\)/gm

const withLinks = (text: string, file: string, base: string): string =>
  text.replace(
    codeOrLink,
    (all, _indent, _fence, picture, label?: string, link?: string) =>
      label === undefined || link === undefined || picture === "!"
        ? all
        : `[${withLinks(label, file, base)}](${addressOf(file, link, base)})`
  )

/** A fence with the name of a file shows the name. */
const withFileNames = (text: string): string =>
  text.replace(/^```(\w+) ([\w./-]+)$/gm, (_, language: string, name: string) => `\`\`\`${language} title="${name}"`)

export interface Page {
  readonly title: string
  readonly text: string
}

/** Reads the title and the text of a page. `base` is the path of the site, with a slash at its end. */
export const readPage = (file: string, text: string, base: string): Page => {
  const [, title, rest] = /^(?:<!--[^]*?-->\s*)?# (.*)\n([^]*)$/.exec(text) ?? []
  if (title === undefined) throw new Error(`${file} does not begin with its title`)
  return { title: title.replaceAll("`", ""), text: withFileNames(withLinks(rest!, file, base)) }
}

/** Links of the built pages lead to pages and anchors that exist, and no page loads a file from elsewhere. */
import { assert, describe, it } from "@effect/vitest"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { shelves } from "../site/shelves.ts"
import { builtPages } from "./support/site.ts"

const pages = builtPages()
const dist = join(import.meta.dirname, "../dist")

const anchorsOf = (html: string): ReadonlySet<string> =>
  new Set([...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id!.replaceAll("&amp;", "&")))

const anchors = new Map([...pages].map(([path, html]) => [path, anchorsOf(html)]))

const valuesOf = (html: string, attribute: string): ReadonlyArray<string> =>
  [...html.matchAll(new RegExp(`<[^>]* ${attribute}="([^"]*)"`, "g"))].map(([, value]) =>
    value!.replaceAll("&amp;", "&")
  )

const problemOf = (page: string, link: string): string | undefined => {
  if (/^(?:https?|mailto|data):/.test(link)) return undefined
  const { hash, pathname } = new URL(link, `http://site${page}`)
  const found = anchors.get(pathname)
  if (found === undefined) return existsSync(join(dist, pathname)) ? undefined : `${page}: ${link}: no such page`
  return hash === "" || found.has(decodeURIComponent(hash.slice(1))) ? undefined : `${page}: ${link}: no such anchor`
}

describe("built pages", () => {
  it("link to pages and anchors that exist", () => {
    const links = [...pages].flatMap(([page, html]) => valuesOf(html, "href").map((link) => [page, link] as const))
    assert.isAbove(links.length, 5000)
    assert.deepStrictEqual([...new Set(links.flatMap(([page, link]) => problemOf(page, link) ?? []))], [])
  })

  it("load no script, style or picture from elsewhere", () => {
    const loaded = [...pages].flatMap(([, html]) => [
      ...valuesOf(html, "src"),
      ...[...html.matchAll(/<link [^>]*rel="(?:stylesheet|preload|modulepreload|icon|shortcut icon)"[^>]*>/g)]
        .flatMap(([tag]) => valuesOf(tag, "href"))
    ])
    assert.isAbove(loaded.length, 100)
    assert.deepStrictEqual(loaded.filter((address) => /^(?:https?:)?\/\//.test(address)), [])
  })

  it("include each page of the shelves", () => {
    const routes = shelves().flatMap((shelf) => shelf.pages.map(({ route }) => `/${route}/`))
    assert.isAbove(routes.length, 35)
    assert.deepStrictEqual(routes.filter((route) => !pages.has(route)), [])
  })
})

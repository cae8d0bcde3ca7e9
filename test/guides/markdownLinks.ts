/** Links, headings and tables of Markdown pages. */

/** A page without its fences: a comment of a shell is no heading. */
const withoutFences = (page: string): string => page.replace(/^( *)(`{3,})[^\n]*\n[^]*?^\1\2 *$/gm, "")

/** The anchor that GitHub gives a heading. */
const anchorOf = (heading: string): string =>
  heading.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").toLowerCase().replace(/[^\p{L}\p{N}\p{M}\p{Pc} -]/gu, "")
    .replaceAll(" ", "-")

/** The anchors of the headings of a page. */
export const anchorsOf = (page: string): ReadonlySet<string> => {
  const counts = new Map<string, number>()
  return new Set(
    [...withoutFences(page).matchAll(/^#{1,6} +(.*?) *$/gm)].map(([, heading]) => {
      const anchor = anchorOf(heading!)
      const count = counts.get(anchor) ?? 0
      counts.set(anchor, count + 1)
      return count === 0 ? anchor : `${anchor}-${count}`
    })
  )
}

/** The relative links of a page, with their anchors. */
export const linksOf = (page: string): ReadonlyArray<string> =>
  [...withoutFences(page).matchAll(/\]\(([^)\s]+)(?: "[^"]*")?\)|^\[[^\]]+\]: (\S+)/gm)]
    .map(([, inline, reference]) => (inline ?? reference)!)
    .filter((link) => !/^[a-z]+:/.test(link))

/** The first rows of the tables of a page. */
export const headersOf = (page: string): ReadonlyArray<string> =>
  [...withoutFences(page).matchAll(/^ *(\|.*\|) *\n *\|[ :|-]+\| *$/gm)].map(([, header]) => header!)

/** The problems of pages that axe finds, in one theme for each test run. `TEST_THEME=dark` or `light` chooses it. */
import axe from "axe-core"
import type { Page } from "playwright-core"

/** The theme of this run. The test's title names it. */
export const theme = process.env["TEST_THEME"] === "dark" || process.env["TEST_THEME"] === "light"
  ? process.env["TEST_THEME"]
  : Math.random() < 0.5
  ? "dark"
  : "light"

/** Options of a page that axe judges: no colour is on its way to another one. */
export const themed = { colorScheme: theme, reducedMotion: "reduce" } as const

/** The problems of a page as it is. */
export const problemsOf = async (page: Page): Promise<ReadonlyArray<string>> => {
  // Not as an element: the page's policy does not let it.
  await page.evaluate(axe.source)
  const { violations } = await page.evaluate(() => {
    const { axe: auditor } = window as unknown as { readonly axe: typeof axe }
    return auditor.run(document)
  })
  return violations.flatMap(({ help, nodes }) =>
    nodes.map(({ html, target }) => `${help}: ${target.join(" ")}: ${html.slice(0, 200)}`)
  )
}

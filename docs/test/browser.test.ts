/** The built site in a real browser. */
import { assert } from "@effect/vitest"
import type { Page } from "playwright-core"
import { it } from "vitest"
import { problemsOf } from "../../packages/studio/test/support/axe.ts"
import { describeInBrowser } from "../../packages/studio/test/support/browser.ts"
import { builtPages, openSite } from "./support/site.ts"

/** Pages of which the whole look is checked: each shelf has some, and each kind of page. */
const looked = ["/", "/quickstart/", "/retries/", "/durable/", "/studio/", "/api/core/recovery/"]

/** Questions of readers, and the page that answers. */
const questions: ReadonlyArray<readonly [question: string, page: string]> = [
  ["retry a tool", "/retries/"],
  ["approve a refund", "/approval/"],
  ["OutcomeUnknown", "/errors/"],
  ["kill -9", "/quickstart/"],
  ["idempotency key", "/lawful-recovery/"],
  ["token cost limit", "/budgets/"],
  ["zod schema", "/parameters/"],
  ["opentelemetry", "/observability/"],
  ["useChat", "/server/"],
  ["inject a fault", "/faults/"]
]

const dialog = "site-search dialog"
const message = `${dialog} .pagefind-ui__message`
const result = `${dialog} .pagefind-ui__result-link`

/** Opens the search by its keys, which work when its field is there. */
const openSearch = async (tab: Page): Promise<void> => {
  await tab.locator(`${dialog} input`).waitFor({ state: "attached" })
  await tab.keyboard.press("Control+k")
  await tab.locator(`${dialog} input:focus`).waitFor()
}

/** Results are loaded one by one; the first three are enough. */
const isLoaded = (dialog: string): boolean => {
  const results = [...document.querySelectorAll(`${dialog} .pagefind-ui__result`)].slice(0, 3)
  return results.length > 0 && results.every((one) => one.querySelector(".pagefind-ui__result-link") !== null)
}

/** Waits until the theme's script has made wide code accessible by keyboard. */
const waitForCode = (tab: Page): Promise<unknown> =>
  tab.waitForFunction(() =>
    [...document.querySelectorAll("pre")].filter((pre) => pre.closest("details:not([open])") === null).every(
      ({ clientWidth, scrollWidth, tabIndex }) => scrollWidth <= clientWidth || tabIndex === 0
    )
  )

/** The theme's own search button is called "Search", and shows its keys as well. */
const isOfTheme = (problem: string): boolean => problem.includes("button[data-open-modal")

/** Time limit of tests that open many pages: on a machine with much else to do they take minutes. */
const busy = 600_000

describeInBrowser("site", ({ context, page, server }) => {
  const site = server(openSite)

  it("opens each page at 375 pixels without an error or a request to elsewhere", async () => {
    const window = await context({ viewport: { width: 375, height: 700 } })
    const outside: Array<string> = []
    await window.route("**/*", (route) => {
      const address = route.request().url()
      if (!address.startsWith(site().url) && !address.startsWith("data:")) outside.push(address)
      return route.continue()
    })
    const tab = await window.newPage()
    const paths = [...builtPages().keys()].filter((path) => !path.startsWith("/decisions/") && path !== "/404.html")
    assert.isAbove(paths.length, 40)
    for (const path of paths) {
      const response = await tab.goto(site().url + path)
      assert.strictEqual(response?.status(), 200, path)
      assert.strictEqual(await tab.locator("h1").count(), 1, path)
      assert.isAtMost(await tab.evaluate(() => document.documentElement.scrollWidth), 375, path)
    }
    assert.deepStrictEqual(outside, [])
  }, busy)

  it.each(["light", "dark"] as const)("has no finding of axe in the %s theme", async (colorScheme) => {
    for (const path of looked) {
      const tab = await page(site().url + path, { colorScheme, reducedMotion: "reduce" })
      assert.strictEqual(await tab.locator("html").getAttribute("data-theme"), colorScheme)
      await waitForCode(tab)
      assert.deepStrictEqual((await problemsOf(tab)).filter((problem) => !isOfTheme(problem)), [], path)
      await tab.close()
    }
  }, busy)

  it("finds the answers to readers' questions", async () => {
    const tab = await page(`${site().url}/quickstart/`)
    await openSearch(tab)
    const missing: Array<string> = []
    for (const [question, expected] of questions) {
      await tab.locator(`${dialog} input`).fill(question)
      await tab.locator(message).filter({ hasText: `for ${question}` }).waitFor()
      await tab.waitForFunction(isLoaded, dialog)
      const found = await tab.locator(result).evaluateAll((links) =>
        links.map((link) => new URL((link as HTMLAnchorElement).href).pathname)
      )
      const pages = [...new Set(found)].slice(0, 3)
      if (!pages.includes(expected)) missing.push(`${question}: ${expected} is not among ${pages.join(", ")}`)
    }
    assert.deepStrictEqual(missing, [])
  })

  it("is read by keyboard alone", async () => {
    const tab = await page(`${site().url}/quickstart/`)
    await tab.keyboard.press("Tab")
    assert.strictEqual(await tab.evaluate(() => document.activeElement?.textContent?.trim()), "Skip to content")
    await tab.keyboard.press("Enter")
    assert.include(tab.url(), "#_top")
    await openSearch(tab)
    await tab.keyboard.type("budgets")
    await tab.locator(result).first().waitFor()
    await tab.keyboard.press("Escape")
    assert.isFalse(await tab.locator(dialog).isVisible())
  })
})

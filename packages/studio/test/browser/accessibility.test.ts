/** The chat, as axe sees it: in each state, light and dark, wide and narrow. */
import axe from "axe-core"
import type { Page } from "playwright-core"
import { assert, it } from "vitest"
import { describeInBrowser } from "../support/browser.ts"
import { openOffice } from "../support/office.ts"
import { ask, button, input, question, shows } from "../support/talk.ts"

describeInBrowser("accessibility of the chat", ({ page: open, server }) => {
  const office = server(openOffice)

  const problems = async (page: Page, rules: ReadonlyArray<string>): Promise<ReadonlyArray<string>> => {
    const { violations } = await page.evaluate((rules) => {
      const { axe: auditor } = window as unknown as { readonly axe: typeof axe }
      return auditor.run(rules.length === 0 ? {} : { runOnly: [...rules] })
    }, rules)
    return violations.flatMap(({ help, nodes }) => nodes.map(({ target }) => `${help}: ${target.join(" ")}`))
  }

  it("has nothing to say: light and dark, wide and narrow", async () => {
    const page = await open(`${office().url}/chat`, {
      viewport: { width: 1200, height: 760 },
      // Colours that are on their way to others are nobody's to judge.
      reducedMotion: "reduce"
    })
    // Not as an element: the page's policy does not let it.
    await page.evaluate(axe.source)
    const found: Array<string> = []
    const look = async (state: string): Promise<void> => {
      const seen = await problems(page, [])
      await page.emulateMedia({ colorScheme: "dark" })
      const inTheDark = await problems(page, ["color-contrast"])
      await page.emulateMedia({ colorScheme: "light" })
      found.push(...[...seen, ...inTheDark].map((problem) => `${state}: ${problem}`))
    }
    await input(page).waitFor()
    await page.getByText("What it can do").click()
    await look("welcome")
    await ask(page, "markdown")
    await ask(page, "hotels: Atlantis")
    for (const call of await page.locator("details.call summary").all()) await call.click()
    await ask(page, "pay")
    await question(page).waitFor()
    await look("question")
    await button(page, "Edit…").click()
    await page.getByRole("textbox", { name: "Euros" }).fill("x")
    await button(page, "Allow with these").click()
    await look("edit")
    await page.setViewportSize({ width: 375, height: 700 })
    await button(page, "Cancel request").click()
    await shows(page, "Stopped.")
    await ask(page, "fail")
    await look("failure, narrow")
    await button(page, "Show conversations").click()
    const thread = page.getByRole("navigation", { name: "Conversations" }).getByRole("listitem").first()
    await thread.hover()
    await look("threads, narrow")
    await button(thread, /^Delete/).click()
    await look("dialog")
    assert.deepStrictEqual(found, [])
  })
})

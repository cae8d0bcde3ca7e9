/** The chat as axe judges it: in each state, wide and narrow. */
import { assert, it } from "vitest"
import { problemsOf, theme, themed } from "../support/axe.ts"
import { describeInBrowser } from "../support/browser.ts"
import { openOffice } from "../support/office.ts"
import { ask, button, input, question, shows } from "../support/talk.ts"

describeInBrowser("accessibility of the chat", ({ page: open, server }) => {
  const office = server(openOffice)

  it(`passes axe, wide and narrow, ${theme}`, async () => {
    const page = await open(`${office().url}/chat`, { viewport: { width: 1200, height: 760 }, ...themed })
    const found: Array<string> = []
    const look = async (state: string): Promise<void> => {
      found.push(...(await problemsOf(page)).map((problem) => `${state}: ${problem}`))
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

/** The built page in a browser, below a path of a static server. */
import { join } from "node:path"
import type { Page } from "playwright-core"
import { assert, it } from "vitest"
import { problemsOf, themed } from "../../../../packages/studio/test/support/axe.ts"
import { describeInBrowser } from "../../../../packages/studio/test/support/browser.ts"
import { faults, frequencies, printChoice, programs } from "../../src/choice.ts"
import { cases } from "../../src/words.ts"
import { serveFolder } from "../support/staticServer.ts"

/** Waits until the page shows the run of its address. */
const shown = (page: Page) =>
  page.waitForFunction(() => document.querySelector("#results")?.getAttribute("data-query") === location.search)

const outcome = (page: Page) => page.getByRole("region", { name: "Outcome" })

/** Shows each address in the page, and returns the broken promises. */
const brokenPromises = (page: Page, queries: ReadonlyArray<string>): Promise<ReadonlyArray<string>> =>
  page.evaluate(async (queries) => {
    const broken: Array<string> = []
    const results = document.querySelector<HTMLElement>("#results")!
    for (const query of queries) {
      history.replaceState(null, "", query)
      dispatchEvent(new PopStateEvent("popstate"))
      for (let waits = 0; results.dataset["query"] !== query; waits++) {
        if (waits > 2000) return [...broken, `${query}: no result`]
        await new Promise((resolve) => setTimeout(resolve, 5))
      }
      const title = document.querySelector(".outcome h2")!.textContent
      const errors = [...document.querySelectorAll(".errors li:not(.handled) code")].map(({ textContent }) =>
        textContent
      )
      const [, tag] = /^The run ends with (.*)$/.exec(title) ?? []
      if (tag !== undefined && !errors.some((member) => member.replace(/<.*/, "") === tag)) {
        broken.push(`${query}: ${tag}`)
      }
      if (document.querySelectorAll(".services .done").length > 1) broken.push(`${query}: a write happened twice`)
      const isRefused = document.querySelector(".refused") !== null
      if (isRefused !== (title === "There is no run")) broken.push(`${query}: ${title}`)
    }
    return broken
  }, queries)

describeInBrowser("playground", ({ page: open, server }) => {
  const site = server(() => serveFolder(join(import.meta.dirname, "../../../public"), "/some/base/"))
  const playground = (query = "", options?: Parameters<typeof open>[1]) =>
    open(`${site().url}playground/${query}`, options)

  it("keeps its promises in every combination", { timeout: 900_000 }, async () => {
    const queries = programs.flatMap((program) =>
      faults.flatMap((fault) => frequencies.map((often) => printChoice({ ...program, fault, often })))
    )
    const page = await playground()
    await shown(page)
    await page.getByRole("region", { name: "Error type" }).getByText("AiError").waitFor()
    assert.deepStrictEqual(await brokenPromises(page, queries), [])
  })

  it("requests only files of its own folder", async () => {
    const page = await playground("", {})
    const requested: Array<string> = []
    page.on("request", (request) => requested.push(request.url()))
    await page.reload()
    await shown(page)
    assert.isAbove(requested.length, 3)
    assert.deepStrictEqual(
      requested.filter((url) => !url.startsWith(`${site().url}playground/`) && !url.startsWith("blob:")),
      []
    )
  })

  it("holds the choice in its address", async () => {
    const page = await playground("?tool=write&fault=lost-answer&with=escalate")
    await shown(page)
    await outcome(page).getByText("I do not know if it was done").waitFor()
    await page.getByRole("checkbox", { name: /^Idempotency key/ }).click()
    await page.getByRole("checkbox", { name: /^Retry/ }).click()
    await shown(page)
    await outcome(page).getByText("known key: not done again").waitFor()
    assert.strictEqual(new URL(page.url()).search, "?tool=write&fault=lost-answer&with=key+retry+escalate")
    await page.reload()
    await shown(page)
    await outcome(page).getByText("known key: not done again").waitFor()
    assert.isTrue(await page.getByRole("checkbox", { name: /^Retry/ }).isChecked())
    await page.goBack()
    await page.goBack()
    await shown(page)
    assert.isFalse(await page.getByRole("checkbox", { name: /^Retry/ }).isChecked())
    await outcome(page).getByText("I do not know if it was done").waitFor()
    await page.goForward()
    await shown(page)
    assert.isTrue(await page.getByRole("checkbox", { name: /^Idempotency key/ }).isChecked())
  })

  it("copies a link to the choice", async () => {
    const page = await playground(cases[3]!.query, { permissions: ["clipboard-read", "clipboard-write"] })
    await shown(page)
    await page.getByRole("button", { name: "Copy link" }).click()
    await page.getByText("The link is copied").waitFor({ state: "attached" })
    assert.strictEqual(await page.evaluate(() => navigator.clipboard.readText()), page.url())
  })

  it("is used by keyboard", async () => {
    const page = await playground("", {})
    await shown(page)
    await page.keyboard.press("Tab")
    await page.keyboard.press("Enter")
    assert.strictEqual(await page.evaluate(() => document.activeElement?.id), "results")
    await page.getByRole("radio", { name: /^A read/ }).focus()
    await page.keyboard.press("ArrowDown")
    await page.waitForURL(/tool=write/)
    await page.getByRole("tab", { name: "agent.ts" }).focus()
    await page.keyboard.press("ArrowRight")
    await page.getByRole("tab", { name: "world.ts", selected: true }).waitFor()
    await page.getByRole("checkbox", { name: /^Escalate/ }).focus()
    await page.keyboard.press("Space")
    await page.waitForURL(/with=escalate/)
  })

  it("passes axe, wide and narrow, in both themes", { timeout: 300_000 }, async () => {
    for (const colorScheme of ["light", "dark"] as const) {
      for (const width of [1280, 375]) {
        const page = await playground("", { ...themed, colorScheme, viewport: { width, height: 812 } })
        for (const { query } of [cases[0]!, cases[4]!, cases[5]!]) {
          await page.evaluate((query) => {
            history.replaceState(null, "", query)
            dispatchEvent(new PopStateEvent("popstate"))
          }, query)
          await shown(page)
          await page.locator(".errors li, .refused").first().waitFor()
          assert.deepStrictEqual(await problemsOf(page), [], `${colorScheme} ${width} ${query}`)
          const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
          assert.isAtMost(overflow, 0, `${width} ${query}`)
        }
      }
    }
  })
})

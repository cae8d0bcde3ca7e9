/** The operator's page as axe judges it, and in a narrow window. */
import { Effect } from "effect"
import type { Page } from "playwright-core"
import { assert, beforeAll, it, onTestFinished } from "vitest"
import { problemsOf, theme, themed } from "../support/axe.ts"
import { describeInBrowser } from "../support/browser.ts"
import { serveDesk } from "../support/desk.ts"
import { row, rows, step, tab } from "../support/operator.ts"

/**
 * Elements that a window is too narrow for: sentences of a word a line, a chosen tab that is cut off, and the page
 * itself.
 */
const squeezed = (page: Page): Promise<ReadonlyArray<string>> =>
  page.evaluate(() => {
    const columns = [...document.querySelectorAll<HTMLElement>("main *")].filter((element) => {
      const hasText = [...element.childNodes].some(({ nodeType, nodeValue }) =>
        nodeType === Node.TEXT_NODE && (nodeValue ?? "").trim() !== ""
      )
      const { height, width } = element.getBoundingClientRect()
      return hasText && width > 1 && width < 100 && height > 90
    })
    const cut = [...document.querySelectorAll<HTMLElement>("[role=tab][aria-selected=true]")].filter((element) => {
      const { left, right } = element.getBoundingClientRect()
      return left < 0 || right > innerWidth
    })
    const page = document.documentElement.scrollWidth > innerWidth ? ["the page"] : []
    return [...page, ...[...columns, ...cut].map(({ textContent }) => textContent)]
  })

describeInBrowser("accessibility of the studio", ({ page: open, server }) => {
  const desk = server(serveDesk)
  let trip: string
  let odd: string
  const studio = (route = "", options?: Parameters<typeof open>[1]) => open(`${desk().url}/studio${route}`, options)
  beforeAll(async () => {
    trip = await desk().begin("trip")
    odd = await desk().begin("evil")
    await desk().ended(trip)
    await desk().ended(odd)
  }, 60_000)

  it(`passes axe, ${theme}`, async () => {
    const waiting = await desk().begin("book", "eve")
    onTestFinished(() => Effect.runPromise(Effect.asVoid(desk().runs.cancel(waiting))))
    const page = await studio(`#/runs/${trip}`, themed)
    await row(page, /^call search_flights failure/).click()
    await step(page).waitFor()
    assert.deepStrictEqual(await problemsOf(page), [])
    await page.getByText("Save", { exact: true }).click()
    assert.deepStrictEqual(await problemsOf(page), [], "Save")
    await page.getByText("Save", { exact: true }).click()
    for (const name of ["Decisions", "Failures", "Requests", "Events"]) {
      await tab(page, name).click()
      await page.getByRole("tabpanel", { name: new RegExp(name) }).waitFor()
      assert.deepStrictEqual(await problemsOf(page), [], name)
    }
    const unsure = await desk().begin("unsure", "eve")
    await desk().ended(unsure)
    for (const route of ["#/overview", "#/checks", `#/runs/${unsure}?tab=Outcomes`, "#/runs/none", "#/runs?code=x"]) {
      await page.goto(`${desk().url}/studio${route}`)
      await page.locator(".tile, .check, .missing, .empty").first().waitFor()
      if (route === "#/checks") await page.getByRole("button", { name: "It has happened" }).first().click()
      assert.deepStrictEqual(await problemsOf(page), [], route)
    }
    for (const route of [`#/runs/${waiting}`, "#/approvals"]) {
      await page.goto(`${desk().url}/studio${route}`)
      await page.getByRole("article", { name: "book waits" }).waitFor()
      assert.deepStrictEqual(await problemsOf(page), [], route)
    }
    await page.goto(`${desk().url}/studio#/compare/${trip}/${odd}`)
    await page.locator(".steps").waitFor()
    assert.deepStrictEqual(await problemsOf(page), [])
    await page.setViewportSize({ width: 375, height: 812 })
    await page.goto(`${desk().url}/studio#/runs/${trip}`)
    await rows(page).first().waitFor()
    assert.deepStrictEqual(await problemsOf(page), [])
    for (const route of ["#/overview", "#/checks"]) {
      await page.goto(`${desk().url}/studio${route}`)
      await page.locator(".tile, .check").first().waitFor()
      assert.deepStrictEqual(await squeezed(page), [], route)
    }
    await page.goto(`${desk().url}/studio#/runs/${trip}`)
    for (const name of ["Waterfall", "Decisions", "Failures", "Requests", "Events"]) {
      await tab(page, name).click()
      await page.getByRole("tabpanel", { name: new RegExp(name) }).waitFor()
      assert.deepStrictEqual(await squeezed(page), [], name)
    }
  })
})

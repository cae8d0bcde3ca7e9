/** The operator's page with 10,000 runs, and with a run of 10,000 events. */
import { assert, it } from "vitest"
import { describeInBrowser } from "../support/browser.ts"
import { serveRuns } from "../support/desk.ts"
import * as ManyRuns from "../support/manyRuns.ts"
import { rows, step, tab } from "../support/operator.ts"

describeInBrowser("the studio of a busy day", ({ page: open, server }) => {
  const many = server(() => serveRuns(ManyRuns.layer))

  it("scrolls through 10,000 runs with a screenful of them in the document", async () => {
    const page = await open(`${many().url}/studio`)
    const list = page.locator(".run-list")
    await list.locator("a").first().waitFor()
    let most = 0
    while (Number(await list.getAttribute("data-count")) < 10_000) {
      await list.evaluate((element) => element.scrollTo({ top: element.scrollHeight }))
      most = Math.max(most, await list.locator("li").count())
    }
    assert.isBelow(most, 60)
    await list.evaluate((element) => element.scrollTo({ top: element.scrollHeight }))
    await list.getByText("owner 0").first().waitFor()
    // Anywhere in the list, a frame after a jump has its rows.
    const missing = await list.evaluate(async (element) => {
      const empty: Array<number> = []
      for (let n = 0; n < 30; n++) {
        element.scrollTo({ top: (element.scrollHeight * n) / 30 })
        await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))
        const box = element.getBoundingClientRect()
        const at = document.elementFromPoint(box.left + 40, box.top + box.height / 2)
        if (at?.closest("li") === null) empty.push(n)
      }
      return empty
    })
    assert.isAtMost(missing.length, 2)
  })

  it("reads a run of 10,000 events, and moves in it at once", async () => {
    const page = await open(`${many().url}/studio#/runs/${ManyRuns.busy}`)
    await page.locator(".rows[data-count=\"5001\"]").waitFor()
    assert.isBelow(await rows(page).count(), 80)
    const took = async (act: () => Promise<void>): Promise<number> => {
      const before = performance.now()
      await act()
      return performance.now() - before
    }
    await page.getByRole("listbox").focus()
    const toEnd = await took(async () => {
      await page.keyboard.press("End")
      await step(page).getByRole("heading", { name: "attempt 1" }).waitFor()
    })
    const back = await took(async () => {
      await page.getByRole("slider", { name: "Event" }).fill("5000")
      await page.locator(".rows[data-count=\"2501\"]").waitFor()
    })
    await tab(page, "Events").click()
    await page.locator(".events .rows[data-count=\"5000\"]").waitFor()
    assert.isBelow(await page.locator(".events li").count(), 80)
    // Of a shared machine, far more than it takes.
    assert.isBelow(Math.max(toEnd, back), 2000)
  })
})

/**
 * Compensation and the inbox in a browser: writes of an ended run are compensated, and several calls are decided at
 * once.
 */
import { Effect } from "effect"
import type { Page } from "playwright-core"
import { assert, it, onTestFinished } from "vitest"
import { problemsOf, theme, themed } from "../support/axe.ts"
import { describeInBrowser } from "../support/browser.ts"
import { serveDesk } from "../support/desk.ts"
import { tab } from "../support/operator.ts"
import { eventually } from "../support/talk.ts"

const button = (page: Page, name: string | RegExp) => page.getByRole("button", { name, exact: true })

const write = (page: Page, name: RegExp) => page.getByRole("article", { name })

describeInBrowser("undo and the inbox of the studio", ({ context, page: open, ownServer }) => {
  it(`undo one write or all of an ended run once, ${theme}`, async () => {
    const desk = await ownServer(serveDesk)
    const runId = await desk.begin("plan")
    await desk.ended(runId)
    const page = await open(`${desk.url}/studio#/runs/${runId}?tab=Undo`, themed)
    await page.getByText("3 calls of this run can be undone").waitFor()
    assert.deepStrictEqual(await problemsOf(page), [])
    await write(page, /^charge .*: outcome unknown$/).getByText("It cannot be undone here").waitFor()

    const ritz = write(page, /^hold_room/).filter({ hasText: "Ritz" })
    await ritz.getByRole("button", { name: "Undo" }).click()
    await ritz.getByText("cannot be taken back").waitFor()
    assert.deepStrictEqual(await problemsOf(page), [], "asks")
    await ritz.getByRole("button", { name: "Back" }).click()
    assert.deepStrictEqual(desk.deeds.filter((deed) => deed.startsWith("release")), [])
    await ritz.getByRole("button", { name: "Undo" }).click()
    // The second click of an impatient person.
    await ritz.getByRole("button", { name: "Undo it" }).dblclick()
    await ritz.getByText("Undone by olga.").waitFor()
    assert.deepStrictEqual(desk.deeds.filter((deed) => deed.startsWith("release")), ["release Ritz-7"])

    await button(page, "Undo all 2").click()
    await button(page, "Undo 2 calls").click()
    await write(page, /^hold_room/).filter({ hasText: "Plaza" }).getByText("Undone by olga.").waitFor()
    const grand = write(page, /^hold_room .*: not undone$/)
    await grand.getByText("its compensation failed (Down). Undo it by hand").waitFor()
    await page.getByText("No call of this run can be undone.").waitFor()
    assert.deepStrictEqual(await problemsOf(page), [], "undone")
    assert.deepStrictEqual(desk.deeds.slice(-2), ["release Ritz-7", "release Plaza-7"])
    await tab(page, "Outcomes").click()
    await page.getByText("The call was done, and was compensated.").first().waitFor()

    await ritz.waitFor({ state: "detached" })
    await page.goto(`${desk.url}/studio#/checks`)
    await page.getByRole("article", { name: "hold_room is to be checked" }).getByText("not undone").waitFor()
    await page.setViewportSize({ width: 375, height: 812 })
    await page.goto(`${desk.url}/studio#/runs/${runId}?tab=Undo`)
    await ritz.waitFor()
    assert.isAtMost(await page.evaluate(() => document.documentElement.scrollWidth), 375)
  })

  it("leave an operator who may not decide without the button, and a run that has not ended alone", async () => {
    const desk = await ownServer(serveDesk)
    const runId = await desk.begin("plan")
    await desk.ended(runId)
    const window = await context()
    await window.addCookies([{ name: "who", value: "otto", url: desk.url }])
    const page = await window.newPage()
    await page.goto(`${desk.url}/studio#/runs/${runId}?tab=Undo`)
    await page.getByText("Somebody with the right to decide may do so.").waitFor()
    assert.strictEqual(await page.getByRole("button", { name: /^Undo/ }).count(), 0)
    const waiting = await desk.begin("book")
    await page.goto(`${desk.url}/studio#/runs/${waiting}?tab=Undo`)
    await page.getByText("The run has not ended.").waitFor()
    await Effect.runPromise(desk.runs.cancel(waiting))
  })

  it(`decide several calls at once, with the run so far, ${theme}`, async () => {
    const desk = await ownServer(serveDesk)
    const runs = [await desk.begin("wire", "ann"), await desk.begin("book", "ben"), await desk.begin("book", "cy")]
    onTestFinished(() => Effect.runPromise(Effect.forEach(runs, (run) => desk.runs.cancel(run), { discard: true })))
    const page = await open(`${desk.url}/studio#/approvals`, themed)
    const cards = page.locator(".inbox .approval")
    await eventually(async () => await cards.count() === 3)
    const wired = cards.filter({ hasText: "wire_money" })
    const story = wired.getByRole("list", { name: "The run so far" }).getByRole("listitem")
    await eventually(async () => await story.count() === 3)
    assert.deepStrictEqual(await story.allTextContents(), [
      "2 calls before: search_flights, find_seat",
      "search_flights {\"from\":\"Berlin\",\"to\":\"Nowhere\"}: failed: execution_error after 3 attempts",
      "hold_room {\"hotel\":\"Ritz\"}: done"
    ])
    await wired.getByText("It cannot be undone afterwards").waitFor()
    assert.deepStrictEqual(await problemsOf(page), [])

    await wired.getByRole("button", { name: "Approve" }).click()
    await wired.getByText("This cannot be taken back.").waitFor()
    assert.notInclude(desk.deeds, "wire 240")
    await wired.getByRole("button", { name: "Back" }).click()

    await page.getByRole("checkbox", { name: "Choose all" }).check()
    await button(page, "Approve 3 calls").click()
    await page.getByText("1 of them cannot be taken back.").waitFor()
    assert.deepStrictEqual(await problemsOf(page), [], "asks")
    await button(page, "Back").click()
    await page.getByRole("checkbox", { name: "Choose wire_money of ann" }).uncheck()
    await button(page, "Approve 2 calls").click()
    await eventually(async () => await cards.count() === 1)
    for (const run of runs.slice(1)) await desk.ended(run)
    assert.strictEqual(desk.deeds.filter((deed) => deed === "Berlin-Porto 204 for 180").length, 2)

    const more = await desk.begin("book", "dan")
    await eventually(async () => await cards.count() === 2)
    await page.getByRole("checkbox", { name: "Choose all" }).check()
    await button(page, "Reject 2 calls").click()
    await page.getByRole("textbox", { name: "Why not? The model reads this." }).fill("Too dear")
    await button(page, "Reject 2 calls").click()
    await page.getByText("No call waits for a decision.").waitFor()
    for (const run of [runs[0]!, more]) await desk.ended(run)
    assert.notInclude(desk.deeds, "wire 240")
  })
})

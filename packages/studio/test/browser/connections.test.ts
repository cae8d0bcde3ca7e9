/** The chat in a browser that loses its connection, is reloaded, and has several tabs. */
import type { Page } from "playwright-core"
import { assert, it } from "vitest"
import { describeInBrowser } from "../support/browser.ts"
import { openOffice } from "../support/office.ts"
import { answers, ask, button, eventually, question, say, settled, shows } from "../support/talk.ts"

describeInBrowser("connections of the chat", ({ context, page: open, ownServer, server }) => {
  const office = server(openOffice)

  /** The words of the long answer. */
  const words = async (page: Page): Promise<ReadonlyArray<string>> =>
    (await answers(page).last().textContent() ?? "").match(/word\d+/g) ?? []

  const expected = Array.from({ length: 40 }, (_, index) => `word${index + 1}`)

  it("a reload during an answer continues it, each word once", async () => {
    const page = await open(`${office().url}/chat`)
    await say(page, "slowly")
    await shows(page, /word5/)
    await page.reload()
    await shows(page, /word5/)
    assert.isBelow((await words(page)).length, 40)
    await shows(page, /word40/)
    await settled(page)
    assert.deepStrictEqual(await words(page), expected)
    assert.strictEqual(await answers(page).count(), 1)
    assert.strictEqual(await page.getByRole("article", { name: "You" }).count(), 1)
  })

  it("another tab of the thread shows this one's messages live", async () => {
    const opened = await context()
    const [one, other] = [await opened.newPage(), await opened.newPage()]
    await one.goto(`${office().url}/chat`)
    await ask(one, "hello")
    await other.goto(one.url())
    await shows(other, "You said: hello")
    await say(one, "slowly")
    await shows(other, /word3/)
    assert.isBelow((await words(other)).length, 40)
    assert.isTrue(await button(other, "Stop").isVisible())
    await Promise.all([settled(one), settled(other)])
    assert.deepStrictEqual(await words(other), expected)
    await ask(other, "pay")
    await question(one).waitFor()
    await button(question(one), "Allow").click()
    await shows(other, "It is settled.")
    assert.strictEqual(await question(other).count(), 0)
  })

  it("after being offline, an answer continues and a message resends once", async () => {
    const opened = await context()
    const page = await opened.newPage()
    await page.goto(`${office().url}/chat`)
    await say(page, "plan")
    await page.getByText("running").waitFor()
    await opened.setOffline(true)
    await shows(page, /Connection lost/)
    await office().open()
    await opened.setOffline(false)
    await shows(page, "The plan is written.")
    await settled(page)
    assert.strictEqual(office().world.deeds.filter((deed) => deed === "plan").length, 1)
    await eventually(async () => !(await page.getByText(/Connection lost/).isVisible()))

    await opened.setOffline(true)
    const failed = page.waitForEvent("requestfailed", (request) => request.method() === "POST")
    await say(page, "are you there?")
    await failed
    await shows(page, /Connection lost/)
    const runs = async () => (await office().listRuns()).length
    const before = await runs()
    await opened.setOffline(false)
    await shows(page, /Not sent/)
    assert.strictEqual(await runs(), before)
    await button(page, "Send again").click()
    await shows(page, "You said: are you there?")
    assert.strictEqual(await runs(), before + 1)
    await eventually(async () => !(await page.getByText(/Not sent/).isVisible()))
    await page.reload()
    await shows(page, "You said: are you there?")
    assert.strictEqual(await page.getByText("are you there?", { exact: true }).count(), 1)
  })

  it("a message whose answer was lost is not sent twice", async () => {
    const page = await open(`${office().url}/chat`)
    await page.route("**/chat", async (route) => {
      if (route.request().method() !== "POST") return route.continue()
      // The server gets it, and the page never hears of that.
      await fetch(route.request().url(), {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: route.request().postData() ?? ""
      }).then((response) => response.text())
      return route.abort("connectionreset")
    })
    await say(page, "number")
    await shows(page, /Number \d+/)
    await eventually(async () => !(await page.getByText(/Not sent/).isVisible()))
    assert.strictEqual(await answers(page).count(), 1)
  })

  it("a message that the server refuses stays, with the reason", async () => {
    const small = await ownServer(() => openOffice({ server: { maxBodyBytes: 2000 } }))
    const page = await open(`${small.url}/chat`)
    await ask(page, "hello")
    await say(page, "x".repeat(3000))
    await shows(page, /may have 2000 bytes/)
    assert.match(await page.getByRole("alert").locator("code").innerText(), /^[0-9a-f]{32}$/)
    await shows(page, /Not sent/)
    await button(page, "Dismiss").click()
    await ask(page, "number")
    await shows(page, /Number \d+/)
  })

  it("six following tabs leave connections free for further messages", async () => {
    const own = await ownServer(() => openOffice())
    const opened = await context()
    const tabs = await Promise.all(Array.from({ length: 6 }, async () => {
      const page = await opened.newPage()
      await page.goto(`${own.url}/chat`)
      await say(page, "plan")
      await button(page, "Stop").waitFor()
      return page
    }))
    await eventually(async () => (await own.listRuns()).filter(({ status }) => status === "running").length === 6)
    const seventh = await opened.newPage()
    await seventh.goto(`${own.url}/chat`)
    await say(seventh, "number")
    await shows(seventh, /Number \d+/)
    await own.open()
    for (const page of tabs) {
      await shows(page, "The plan is written.")
      await settled(page)
      assert.strictEqual(await answers(page).count(), 1)
    }
  })

  it("a hidden tab releases its connection, and follows again when visible", async () => {
    const own = await ownServer(() => openOffice())
    const page = await open(`${own.url}/chat`)
    const look = (state: string) =>
      page.evaluate((state) => {
        Object.defineProperty(document, "visibilityState", { configurable: true, value: state })
        document.dispatchEvent(new Event("visibilitychange"))
      }, state)
    await say(page, "plan")
    await page.getByText("running").waitFor()
    const closed = page.waitForEvent("requestfailed", (request) => request.method() === "POST")
    await look("hidden")
    await closed
    await look("visible")
    await button(page, "Stop").waitFor()
    await own.open()
    await shows(page, "The plan is written.")
    assert.strictEqual(await answers(page).count(), 1)
  })

  it("a server that was started again is found again", async () => {
    const before = await ownServer(() => openOffice())
    const port = Number(new URL(before.url).port)
    const page = await open(`${before.url}/chat`)
    await ask(page, "hello")
    await before.close()
    await say(page, "number")
    await shows(page, /Connection lost/)
    await ownServer(() => openOffice({ port }))
    await shows(page, /Not sent/)
    await button(page, "Send again").click()
    await shows(page, /Number \d+/)
    await eventually(async () => !(await page.getByText(/Connection lost/).isVisible()))
  })
})

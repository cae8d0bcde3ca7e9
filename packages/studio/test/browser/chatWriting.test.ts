/** Writing in the chat, in a browser: while the agent works, over a reload, in any direction, on a small screen. */
import { assert, it } from "vitest"
import { problemsOf, theme, themed } from "../support/axe.ts"
import { describeInBrowser } from "../support/browser.ts"
import { openOffice } from "../support/office.ts"
import { answers, ask, button, eventually, input, say, settled, shows } from "../support/talk.ts"

describeInBrowser("writing in the chat", ({ page: open, server }) => {
  const office = server(openOffice)
  const chat = (options?: Parameters<typeof open>[1]) => open(`${office().url}/chat`, options)

  it("queues messages while the agent works, and sends them later", async () => {
    const page = await chat(themed)
    const queued = page.getByRole("list", { name: "Sent when the agent is done" }).getByRole("listitem")
    await ask(page, "hello")
    await say(page, "slowly")
    await page.getByText(/word1 /).waitFor()
    for (const text of ["number two", "not this", "number three"]) await say(page, text)
    await eventually(async () => await queued.count() === 3)
    await input(page).fill("still writing")
    await button(page, "Send when the agent is done").waitFor()
    // Before axe, which takes longer than the answer on a loaded machine.
    await queued.filter({ hasText: "not this" }).getByRole("button", { name: "Do not send" }).click()
    assert.deepStrictEqual(await problemsOf(page), [], theme)
    await shows(page, "word40")
    await eventually(async () => await answers(page).count() === 4)
    await settled(page)
    const said = await page.locator(".from-user").allTextContents()
    assert.deepStrictEqual(said, ["hello", "slowly", "number two", "number three"])
    assert.strictEqual(await queued.count(), 0)
    assert.strictEqual(await input(page).inputValue(), "still writing")
  })

  it("keeps a draft and queued messages over a reload", async () => {
    const page = await chat()
    await input(page).fill("a new thought")
    await page.reload()
    assert.strictEqual(await input(page).inputValue(), "a new thought")
    await input(page).fill("")
    await ask(page, "hello")
    await say(page, "slowly")
    await page.getByText(/word1 /).waitFor()
    await say(page, "number later")
    await input(page).fill("and a draft")
    await page.reload()
    assert.strictEqual(await input(page).inputValue(), "and a draft")
    await shows(page, "word40")
    await page.locator(".from-user", { hasText: "number later" }).waitFor()
    await settled(page)
    assert.strictEqual(await page.locator(".from-user", { hasText: "number later" }).count(), 1)
  })

  it("keeps queued messages until a question is answered", async () => {
    const page = await chat()
    await ask(page, "pay")
    await say(page, "number after")
    await page.getByRole("list", { name: "Sent when the agent is done" }).getByText("number after").waitFor()
    await button(page, "Allow").click()
    await shows(page, "It is settled.")
    await page.locator(".from-user", { hasText: "number after" }).waitFor()
    await settled(page)
  })

  it("gives each text its direction, and titles no invisible characters", async () => {
    const page = await chat()
    const hebrew = "\u05e9\u05dc\u05d5\u05dd"
    await ask(page, `${hebrew}: 3 hotels`)
    const directions = await page.locator(".from-user p, .markdown p").evaluateAll((all) =>
      all.map((element) => getComputedStyle(element).direction)
    )
    // The answer begins in English, and repeats it.
    assert.deepStrictEqual(directions, ["rtl", "ltr"])
    await input(page).fill(hebrew)
    assert.strictEqual(await input(page).evaluate((element) => getComputedStyle(element).direction), "rtl")
    const id = new URL(page.url()).searchParams.get("thread")!
    const title = "in\u202evoice\u0007 \u2066fdp.exe\u2069"
    const renamed = await fetch(`${office().url}/threads/${id}`, {
      method: "PATCH",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ title })
    })
    assert.strictEqual(renamed.status, 200)
    await page.reload()
    await page.getByRole("heading", { level: 1, name: "invoice fdp.exe", exact: true }).waitFor()
    assert.strictEqual(await page.locator(".thread-name").first().textContent(), "invoice fdp.exe")
    assert.include(await page.title(), "invoice fdp.exe")
  })

  it("scrolls an opening form into view, also on small screens", async () => {
    const page = await chat({ viewport: { width: 375, height: 520 } })
    await ask(page, "pay")
    await button(page, "Edit…").click()
    const allow = button(page, "Allow with these")
    await allow.waitFor()
    const hidden = await allow.evaluate((element) => {
      const { bottom, left, right, top } = element.getBoundingClientRect()
      const dock = document.querySelector(".dock")!.getBoundingClientRect()
      const at = document.elementFromPoint((left + right) / 2, (top + bottom) / 2)
      return bottom > dock.top || top < 0 || at === null || !element.contains(at)
    })
    assert.isFalse(hidden)
  })
})

/** The chat in a browser: everything that a person can do in it. */
import type { Server } from "@recourse/server"
import { Effect } from "effect"
import { assert, describe, it } from "vitest"
import { describeInBrowser } from "../support/browser.ts"
import { attack, openOffice } from "../support/office.ts"
import { answers, ask, button, eventually, input, say, settled, shows } from "../support/talk.ts"

describeInBrowser("the chat", ({ context, page: open, ownServer, server }) => {
  const office = server(openOffice)
  const chat = (options?: Parameters<typeof open>[1]) => open(`${office().url}/chat`, options)

  describe("answers", () => {
    it("are Markdown, rendered as elements", async () => {
      const page = await chat()
      await button(page, "markdown").click()
      await settled(page)
      const answer = answers(page).last()
      await answer.getByRole("heading", { name: "Lisbon in two days" }).waitFor()
      assert.strictEqual(await answer.getByRole("row").count(), 3)
      assert.deepStrictEqual(
        await answer.getByRole("checkbox").evaluateAll((all) =>
          (all as Array<HTMLInputElement>).map(({ checked }) => checked)
        ),
        [true, false]
      )
      const link = answer.getByRole("link", { name: "the office" })
      assert.strictEqual(await link.getAttribute("rel"), "noopener noreferrer nofollow")
      assert.strictEqual(await link.getAttribute("target"), "_blank")
      assert.include(await answer.getByRole("region", { name: "Code: ts" }).textContent(), "const days = 2")
      assert.include(page.url(), "thread=")
    })

    it("are regenerated on demand and replace the last one", async () => {
      const page = await chat()
      await ask(page, "number")
      const first = await answers(page).last().textContent()
      await button(page, "Answer again").click()
      await eventually(async () =>
        /Number \d+/.test(await answers(page).last().textContent() ?? "") &&
        (await answers(page).last().textContent()) !== first
      )
      await settled(page)
      assert.strictEqual(await answers(page).count(), 1)
      const text = async () => {
        // The page draws the number of versions behind the text.
        await answers(page).last().getByText("2 / 2").waitFor()
        return await answers(page).last().textContent()
      }
      const second = await text()
      await page.reload()
      assert.strictEqual(await text(), second)
    })

    it("can be rated with a reason, if feedback is read", async () => {
      const kept: Array<Server.Feedback> = []
      const own = await ownServer(() =>
        openOffice({ server: { onFeedback: (feedback) => Effect.sync(() => kept.push(feedback)) } })
      )
      const page = await open(`${own.url}/chat`)
      await ask(page, "number")
      await button(page, "Bad answer").click()
      await page.getByRole("textbox", { name: "What was wrong?" }).fill("Too short")
      await button(page, "Send feedback").click()
      await eventually(() => kept.length === 2)
      assert.strictEqual(await button(page, "Bad answer").getAttribute("aria-pressed"), "true")
      await button(page, "Good answer").click()
      await eventually(() => kept.length === 3)
      assert.deepStrictEqual(kept.map(({ comment, value }) => [value, comment]), [
        ["down", undefined],
        ["down", "Too short"],
        ["up", undefined]
      ])
      const [run] = await own.listRuns()
      assert.isTrue(kept.every(({ runId }) => runId === run?.runId))
    })

    it("that failed have a safe sentence, run id and retry, also reloaded", async () => {
      const page = await chat()
      await ask(page, "fail")
      const failure = answers(page).last()
      await shows(page, "The service is not available.")
      assert.match(await failure.locator("code").textContent() ?? "", /^run_/)
      assert.notInclude(await failure.textContent(), "Authentication")
      const seen = await failure.textContent()
      await page.reload()
      await shows(page, "The service is not available.")
      assert.strictEqual(await answers(page).last().textContent(), seen)
      await button(page, "Try again").click()
      await eventually(async () => (await answers(page).last().locator("code").textContent().catch(() => "")) !== seen)
      await settled(page)
      assert.strictEqual(await answers(page).count(), 1)
    })

    it("are stopped by the reader: the tool is interrupted, visibly", async () => {
      const page = await chat()
      const before = office().world.deeds.length
      await say(page, "plan")
      await page.getByText("running").waitFor()
      await button(page, "Stop").click()
      await settled(page)
      await shows(page, "Stopped.")
      await page.reload()
      await shows(page, "Stopped.")
      assert.strictEqual(office().world.deeds.length, before)
      await ask(page, "number")
      await shows(page, /Number \d+/)
    })
  })

  describe("calls", () => {
    it("are lines that open: arguments, how they recovered, result", async () => {
      const page = await chat()
      await ask(page, "hotels: Porto")
      const call = page.getByRole("group").filter({ hasText: "Search hotels" })
      assert.include(await call.textContent(), "tried again after 0.3 s")
      assert.isFalse(await call.getByText("Pensão Central").isVisible())
      await call.locator("summary").focus()
      await page.keyboard.press("Enter")
      await call.getByText("Pensão Central").waitFor()
      assert.deepStrictEqual(await call.getByRole("listitem").filter({ hasText: /ttempt|ried/ }).allTextContents(), [
        "Attempt 1 failed",
        "Tried again after 0.3 s",
        "Attempt 2 succeeded"
      ])
      assert.strictEqual(await call.getByText("Porto", { exact: true }).count(), 1)
    })

    it("that failed say so in a sentence, never in JSON", async () => {
      const page = await chat()
      await ask(page, "hotels: Atlantis")
      const call = page.getByRole("group").filter({ hasText: "Search hotels" })
      await call.locator("summary").click()
      const text = await call.textContent() ?? ""
      assert.include(text, "Something went wrong.")
      assert.notMatch(text, /Down|ExecutionError|\{|message_for/)
    })
  })

  describe("threads", () => {
    it("are listed, searched, opened, renamed and deleted", async () => {
      const own = await ownServer(() => openOffice({ principal: { id: "carla" } }))
      const page = await open(`${own.url}/chat`)
      const list = page.getByRole("navigation", { name: "Conversations" })
      await ask(page, "A trip to Rome")
      await button(page, "New conversation").click()
      await ask(page, "A trip to Oslo")
      await eventually(async () => await list.getByRole("link").count() === 2)
      assert.deepStrictEqual(await list.getByRole("link").allTextContents(), ["A trip to Oslo", "A trip to Rome"])
      await page.getByRole("searchbox").fill("rome")
      await eventually(async () => await list.getByRole("link").count() === 1)
      await list.getByRole("link", { name: "A trip to Rome" }).click()
      await shows(page, "You said: A trip to Rome")
      await page.goBack()
      await shows(page, "You said: A trip to Oslo")
      await page.getByRole("searchbox").fill("")
      await list.getByRole("link", { name: "A trip to Oslo" }).hover()
      await button(page, "Rename A trip to Oslo").click()
      await page.getByRole("textbox", { name: "Title of the conversation" }).fill("North")
      await page.keyboard.press("Enter")
      await list.getByRole("link", { name: "North" }).waitFor()
      await page.getByRole("heading", { level: 1, name: "North" }).waitFor()
      await list.getByRole("link", { name: "North" }).hover()
      await button(page, "Delete North").click()
      await button(page.getByRole("dialog"), "Delete").click()
      await eventually(async () => await list.getByRole("link").count() === 1)
      assert.strictEqual(await answers(page).count(), 0)
      assert.notInclude(page.url(), "thread=")
    })

    it("that do not exist say so, and offer a new one", async () => {
      const page = await open(`${office().url}/chat?thread=none`)
      await shows(page, "This conversation does not exist.")
      await button(page.getByRole("main"), "New conversation").click()
      await ask(page, "hello")
      await shows(page, "You said: hello")
    })
  })

  describe("attachments", () => {
    const png = Buffer.from(
      "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==",
      "base64"
    )
    it("go to the agent, and are shown with the message", async () => {
      const page = await chat()
      const files = page.locator("input[type=file]")
      await files.setInputFiles({ name: "map.png", mimeType: "image/png", buffer: png })
      await page.getByRole("list", { name: "Attachments" }).getByText("map.png").waitFor()
      await say(page, "look")
      await page.getByRole("img", { name: "map.png" }).waitFor()
      await settled(page)
      assert.include(await office().lastPrompt(), "image/png")
    })

    it("refuses attachments of other types or sizes with a sentence", async () => {
      const page = await chat()
      const files = page.locator("input[type=file]")
      await files.setInputFiles({ name: "a.exe", mimeType: "application/x-msdownload", buffer: png })
      await shows(page, "a.exe is of a type that this agent does not take.")
      await files.setInputFiles({ name: "b.png", mimeType: "image/png", buffer: Buffer.alloc(900_000) })
      await shows(page, /b\.png is too large: 879 kB/)
      assert.isTrue(await button(page, "Send").isDisabled())
    })
  })

  it("looks as the system does, or as the reader chose", async () => {
    const page = await chat({ colorScheme: "dark" })
    const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor)
    await input(page).waitFor()
    assert.strictEqual(await paper(), "rgb(22, 22, 21)")
    await button(page, /^Theme: as the system/).click()
    assert.strictEqual(await paper(), "rgb(250, 249, 246)")
    await page.reload()
    await button(page, /^Theme: light/).click()
    assert.strictEqual(await paper(), "rgb(22, 22, 21)")
  })

  it("fits a narrow screen: threads are a drawer that Escape closes", async () => {
    const page = await chat({ viewport: { width: 320, height: 640 } })
    await ask(page, "hotels: Lisbon")
    await ask(page, "markdown")
    assert.isAtMost(await page.evaluate(() => document.documentElement.scrollWidth), 320)
    const list = page.getByRole("navigation", { name: "Conversations" })
    assert.isFalse(await list.isVisible())
    await button(page, "Show conversations").click()
    await list.getByRole("link").first().waitFor()
    await page.keyboard.press("Escape")
    await list.waitFor({ state: "hidden" })
    assert.isTrue(await button(page, "Show conversations").evaluate((at) => at === document.activeElement))
    await button(page, "Show conversations").click()
    await page.mouse.click(310, 320)
    await list.waitFor({ state: "hidden" })
  })

  it("scrolls in its messages only, anywhere in a long answer", async () => {
    const page = await chat({ viewport: { width: 375, height: 150 } })
    await ask(page, "hotels: Lisbon")
    await page.locator(".scroller").evaluate((element) => element.scrollTo({ top: 0 }))
    assert.strictEqual(await page.evaluate(() => document.documentElement.scrollHeight), 150)
  })

  it("works by keyboard, and announces events to screen readers", async () => {
    const page = await chat()
    await input(page).waitFor()
    assert.isTrue(await input(page).evaluate((at) => at === document.activeElement))
    await page.keyboard.type("pay")
    await page.keyboard.press("Enter")
    const said = page.locator("#announcer")
    await eventually(async () => (await said.textContent()) === "Your decision is needed: Pay deposit.")
    await page.keyboard.press("Shift+Tab")
    for (let steps = 0; steps < 12; steps++) {
      if (await button(page, "Allow").evaluate((at) => at === document.activeElement)) break
      await page.keyboard.press("Shift+Tab")
    }
    await page.keyboard.press("Enter")
    await eventually(async () => (await said.textContent()) === "Answer: It is settled.")
    assert.isTrue(await input(page).evaluate((at) => at === document.activeElement))
    await page.keyboard.press("Control+k")
    await eventually(() => page.evaluate(() => document.activeElement?.getAttribute("type") === "search"))
    await page.keyboard.type("zzz")
    await shows(page, "No conversation has these words.")
  })

  it("shows any model or tool text without running or loading", async () => {
    const opened = await context()
    const page = await opened.newPage()
    const outside: Array<string> = []
    page.on("request", (request) => {
      if (!request.url().startsWith(office().url) && !request.url().startsWith("data:")) outside.push(request.url())
    })
    page.on("dialog", () => outside.push("a dialog"))
    await page.goto(`${office().url}/chat`)
    await ask(page, "attack")
    const main = page.getByRole("main")
    for (const details of await main.locator("summary").all()) await details.click()
    assert.include(await main.textContent(), "onerror=\"window.hacked=1\"")
    // The user's own text, and the title made of it.
    await ask(page, attack)
    await page.getByRole("link", { name: "attack" }).waitFor()
    await button(page, "New conversation").click()
    await ask(page, attack)
    const found = await page.evaluate(() => ({
      hacked: (window as { readonly hacked?: unknown }).hacked,
      elements: document.querySelectorAll("iframe, object, embed, main img, body script, body style").length,
      // A link that leads nowhere would load the chat once more.
      addresses: [...document.querySelectorAll("main a")].filter((link) =>
        !/^https?:\/\//.test(link.getAttribute("href") ?? "")
      ).length
    }))
    assert.deepStrictEqual(found, { hacked: undefined, elements: 0, addresses: 0 })
    assert.deepStrictEqual(outside, [])
  })
})

/** The chat's questions in a browser: a call that asks first is allowed, changed, declined or cancelled. */
import { assert, it } from "vitest"
import { describeInBrowser } from "../support/browser.ts"
import { openOffice } from "../support/office.ts"
import { ask, button, eventually, question, say, shows } from "../support/talk.ts"

describeInBrowser("questions of the chat", ({ context, page: open, ownServer, server }) => {
  const office = server(openOffice)
  const chat = (options?: Parameters<typeof open>[1]) => open(`${office().url}/chat`, options)

  it("show the exact arguments, and run the allowed call", async () => {
    const page = await chat()
    await ask(page, "pay")
    const asked = question(page)
    assert.deepStrictEqual(await asked.locator("dt").allTextContents(), ["Hotel", "Euros"])
    assert.deepStrictEqual(await asked.locator("dd").allTextContents(), ["Hotel Mar", "120"])
    assert.isTrue(await button(page, "Send").isDisabled())
    await button(asked, "Allow").click()
    await shows(page, "It is settled.")
    assert.strictEqual(office().world.deeds.at(-1), "pay 120 Hotel Mar")
    assert.strictEqual(await asked.count(), 0)
  })

  it("are declined with a reason, which the agent reads", async () => {
    const page = await chat()
    const before = office().world.deeds.length
    await ask(page, "pay")
    await button(page, "Decline…").click()
    await page.getByRole("textbox", { name: /Why not/ }).fill("Too dear for me")
    await button(page, "Decline").click()
    await shows(page, "It is settled.")
    assert.include(await office().lastPrompt(), "Too dear for me")
    assert.strictEqual(office().world.deeds.length, before)
    const call = page.getByRole("group").filter({ hasText: "Pay deposit" })
    assert.include(await call.textContent(), "declined")
    assert.include(await call.textContent(), "Declined by ada: Too dear for me")
  })

  it("are allowed with other arguments; an invalid number is not sent", async () => {
    const page = await chat()
    await ask(page, "pay")
    await button(page, "Edit…").click()
    const euros = page.getByRole("textbox", { name: "Euros" })
    await euros.fill("eighty")
    await button(page, "Allow with these").click()
    await shows(page, "This has to be a number.")
    assert.isTrue(await euros.evaluate((field) => field === document.activeElement))
    await euros.fill("80")
    await button(page, "Allow with these").click()
    await shows(page, "It is settled.")
    assert.strictEqual(office().world.deeds.at(-1), "pay 80 Hotel Mar")
    for (const state of ["live", "after a reload"]) {
      if (state === "after a reload") await page.reload()
      const call = page.getByRole("group").filter({ hasText: "Pay deposit" })
      await call.getByText("edited by ada", { exact: true }).waitFor()
      await call.locator("summary").click()
      assert.deepStrictEqual(await call.locator("dd").allTextContents(), ["Hotel Mar", "80"], state)
      await call.getByText("Edited by ada: euros 120 → 80").waitFor()
    }
  })

  it("sends questions of one answer together, each with its decision", async () => {
    const page = await chat()
    await ask(page, "pay twice")
    await eventually(async () => await question(page).count() === 2)
    const before = office().world.deeds.length
    await button(question(page).first(), "Allow").click()
    await eventually(async () => await question(page).count() === 1)
    await button(question(page), "Decline…").click()
    assert.strictEqual(office().world.deeds.length, before)
    await button(page, "Decline").click()
    await shows(page, "Both are settled.")
    assert.deepStrictEqual(office().world.deeds.slice(before), ["pay 120 Hotel Mar"])
  })

  it("outlive a reload, and are withdrawn at cancellation", async () => {
    const page = await chat()
    await ask(page, "pay")
    await page.reload()
    await question(page).waitFor()
    await button(page, "Cancel request").click()
    await question(page).waitFor({ state: "detached" })
    await shows(page, "Stopped.")
    await ask(page, "number")
    await shows(page, /Number \d+/)
  })

  it("answered by another person end in all of this browser's tabs", async () => {
    const page = await chat()
    await say(page, "pay")
    await question(page).waitFor()
    const own = await (await context()).newPage()
    const other = await own.context().newPage()
    for (const tab of [own, other]) {
      await tab.goto(page.url())
      await question(tab).waitFor()
    }
    const before = office().world.deeds.length
    await button(question(page), "Allow").click()
    await shows(page, "It is settled.")
    await button(question(own), "Allow").click()
    await own.getByRole("alert").getByText("This question is over").waitFor()
    for (const tab of [own, other]) await shows(tab, "It is settled.")
    assert.strictEqual(office().world.deeds.length, before + 1)
  })

  it("are for those who may decide", async () => {
    const visited = await ownServer(() => openOffice({ principal: { id: "bob", rights: ["chat"] } }))
    const page = await open(`${visited.url}/chat`)
    await ask(page, "pay")
    await shows(page, "Somebody else has to decide about this.")
    assert.strictEqual(await button(page, "Allow").count(), 0)
  })
})

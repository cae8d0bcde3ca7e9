/** Messages that join the agent's work, in a browser. */
import { assert, it } from "vitest"
import { problemsOf, theme, themed } from "../support/axe.ts"
import { describeInBrowser } from "../support/browser.ts"
import { openOffice } from "../support/office.ts"
import { answers, ask, button, eventually, input, say, settled, shows } from "../support/talk.ts"

describeInBrowser("a message that joins the agent's work", ({ page: open, server }) => {
  const office = server(() => openOffice({ server: { onBusy: "join" } }))

  it("is read at the next step, shown at its place, and can wait instead", async () => {
    const page = await open(`${office().url}/chat`, themed)
    const joining = page.getByRole("list", { name: "Read at the agent's next step" }).getByRole("listitem")
    const waiting = page.getByRole("list", { name: "Sent when the agent is done" }).getByRole("listitem")
    await ask(page, "hello")
    await say(page, "plan")
    await page.getByText(/write plan/i).first().waitFor()
    await input(page).fill("in French")
    await button(page, "Send to the agent's next step").click()
    await say(page, "number two")
    await say(page, "not this")
    await eventually(async () => await joining.count() === 3)
    await joining.filter({ hasText: "number two" }).getByRole("button", { name: "Wait until it is done" }).click()
    await eventually(async () => await waiting.count() === 1)
    await joining.filter({ hasText: "not this" }).getByRole("button", { name: "Do not send" }).click()
    await eventually(async () => await joining.count() === 1)
    assert.deepStrictEqual(await problemsOf(page), [], theme)
    await office().open()
    await shows(page, "You said: in French")
    await page.locator(".from-user", { hasText: "number two" }).waitFor()
    const said = () => page.locator(".from-user").allTextContents()
    const all = ["hello", "plan", "in French", "number two"]
    // The page draws a message that waited again when it is sent.
    await eventually(async () => (await said()).length === 4)
    await settled(page)
    assert.deepStrictEqual(await said(), all)
    assert.strictEqual(await answers(page).count(), 3)
    assert.deepStrictEqual(office().world.deeds, ["plan"])
    await page.reload()
    await shows(page, "You said: in French")
    await eventually(async () => (await said()).length === 4)
    assert.deepStrictEqual(await said(), all)
    await page.getByRole("region", { name: "You, while the agent worked" }).waitFor()
  })

  it("is sent behind a question that waits", async () => {
    const page = await open(`${office().url}/chat`)
    await ask(page, "pay")
    await say(page, "number after")
    await page.getByRole("list", { name: "Sent when the agent is done" }).getByText("number after").waitFor()
    await button(page, "Allow").click()
    await shows(page, "It is settled.")
    await page.locator(".from-user", { hasText: "number after" }).waitFor()
    await settled(page)
  })
})

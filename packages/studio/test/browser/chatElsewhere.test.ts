/** The chat in a browser, while something happens elsewhere: on another device, at an operator's, in another tab. */
import { Approval } from "@recourse/core"
import { Effect } from "effect"
import type { Page } from "playwright-core"
import { assert, it } from "vitest"
import { problemsOf, theme, themed } from "../support/axe.ts"
import { describeInBrowser } from "../support/browser.ts"
import { openOffice } from "../support/office.ts"
import { answers, ask, button, eventually, input, question, say, settled, shows } from "../support/talk.ts"

const operator = { id: "ada", rights: ["chat", "decide", "operate"] } as const

describeInBrowser("a chat that changes elsewhere", ({ context, page: open, server }) => {
  const office = server(() => openOffice({ principal: operator }))
  const chat = (options?: Parameters<typeof open>[1]) => open(`${office().url}/chat`, options)

  const mark = (page: Page, thread: string, label: string) =>
    page.getByRole("navigation", { name: "Conversations" }).getByRole("link", { name: thread }).getByRole("img", {
      name: label
    })

  it("shows a second device's message, and marks the thread elsewhere", async () => {
    const page = await chat()
    await ask(page, "number one")
    const device = await (await context()).newPage()
    await device.goto(page.url())
    await device.getByText("You said: number one").waitFor()
    await device.getByRole("button", { name: "New conversation" }).click()
    await ask(page, "from the first device")
    // It is not open here: it is marked.
    await mark(device, "number one", "something new").waitFor()
    await device.getByRole("link", { name: "number one" }).click()
    await shows(device, "You said: from the first device")
    await mark(device, "number one", "something new").waitFor({ state: "detached" })
    await ask(page, "and again")
    await shows(device, "You said: and again")
    await say(device, "slowly")
    await eventually(async () => await answers(page).last().locator("text=word1").count() > 0)
    await shows(page, "word40")
    await settled(device)
  })

  it("marks a waiting thread, and shows an operator's decision", async () => {
    const page = await chat(themed)
    await ask(page, "pay")
    await mark(page, "pay", "waits for a decision").waitFor()
    assert.deepStrictEqual(await problemsOf(page), [], theme)
    const [run] = await office().listRuns()
    const decision = Approval.edit(run!.pending[0]!, { hotel: "Hotel Mar", euros: 40 }, { by: "Olga" })
    await Effect.runPromise(office().runs.decide(run!.runId, [decision]))
    await shows(page, "It is settled.")
    await page.getByText("edited by Olga", { exact: true }).waitFor()
    await question(page).waitFor({ state: "detached" })
    await mark(page, "pay", "waits for a decision").waitFor({ state: "detached" })
  })

  it("shows a person's finding about a possible call", async () => {
    const page = await chat()
    await ask(page, "invoice")
    const call = page.getByRole("group").filter({ hasText: "Send invoice" })
    await call.getByText("not known", { exact: true }).waitFor()
    await page.getByRole("link", { name: "Studio" }).click()
    await page.getByRole("link", { name: "To be checked" }).click()
    await page.getByRole("button", { name: "It has happened" }).first().click()
    await button(page, /^Record/).click()
    await page.getByText("No call is left").waitFor()
    await page.goBack()
    await page.goBack()
    await call.getByText("Checked: it was done").waitFor()
    await ask(page, "number")
    assert.include(await office().lastPrompt(), "It has happened. Do not call it again")
  })

  it("links a failure's reference to its run, if allowed", async () => {
    const page = await chat()
    await ask(page, "fail")
    await page.getByRole("link", { name: "Open the run" }).click()
    await page.locator(".run-title").getByText("failed").waitFor()
    await page.getByRole("tab", { name: /^Failures/ }).click()
    await page.getByText("ended the run").waitFor()
    await page.locator(".run-head").getByText("authentication").waitFor()
    await page.getByRole("link", { name: "Chat" }).click()
    await input(page).waitFor()
  })

  it("that was deleted elsewhere says so", async () => {
    const page = await chat()
    await ask(page, "number gone")
    const id = new URL(page.url()).searchParams.get("thread")!
    await eventually(async () => (await fetch(`${office().url}/threads/${id}`, { method: "DELETE" })).status === 204)
    await shows(page, "This conversation does not exist.")
  })
})

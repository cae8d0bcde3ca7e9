/** Editing in the chat, in a browser: branches, versions of an answer, questions of tools, and code. */
import { assert, it } from "vitest"
import { problemsOf, theme, themed } from "../support/axe.ts"
import { describeInBrowser } from "../support/browser.ts"
import { openOffice } from "../support/office.ts"
import { answers, ask, button, eventually, input, say, settled, shows } from "../support/talk.ts"

describeInBrowser("editing in the chat", ({ page: open, server }) => {
  const office = server(openOffice)
  const chat = (options?: Parameters<typeof open>[1]) => open(`${office().url}/chat`, options)

  it(`sends an edited message in a new conversation, ${theme}`, async () => {
    const page = await chat(themed)
    await ask(page, "hello")
    await ask(page, "number")
    const first = page.url()
    const second = page.locator(".from-user", { hasText: "number" })
    await second.hover()
    await second.getByRole("button", { name: "Edit and branch" }).click()
    assert.deepStrictEqual(await problemsOf(page), [])
    await page.getByRole("textbox", { name: /The edited message begins/ }).fill("other words")
    await button(page, "Send as a branch").click()
    await shows(page, "You said: other words")
    await settled(page)
    assert.notStrictEqual(page.url(), first)
    assert.deepStrictEqual(await page.locator(".from-user .bubble").allTextContents(), ["hello", "other words"])
    assert.notInclude(await office().lastPrompt(), "number")
    await page.goto(first)
    await shows(page, /Number \d/)
    assert.deepStrictEqual(await page.locator(".from-user .bubble").allTextContents(), ["hello", "number"])
  })

  it("keeps the versions of an answer", async () => {
    const page = await chat(themed)
    await ask(page, "number")
    const before = await answers(page).last().locator(".markdown").textContent()
    await button(page, "Answer again").click()
    const versions = page.getByRole("group", { name: "Versions of this answer" })
    await versions.getByText("2 / 2").waitFor()
    const after = await answers(page).last().locator(".markdown").textContent()
    assert.notStrictEqual(before, after)
    await versions.getByRole("button", { name: "Earlier answer" }).click()
    await versions.getByText("1 / 2").waitFor()
    assert.strictEqual(await answers(page).last().locator(".markdown").textContent(), before)
    assert.deepStrictEqual(await problemsOf(page), [], theme)
    await versions.getByRole("button", { name: "Later answer" }).click()
    assert.strictEqual(await answers(page).last().locator(".markdown").textContent(), after)
  })

  it("stops the agent for a message that is sent now", async () => {
    const page = await chat()
    await ask(page, "hello")
    await say(page, "slowly")
    await page.getByText(/word1 /).waitFor()
    await say(page, "number now")
    await button(page, "Stop and send now").click()
    await page.locator(".from-user", { hasText: "number now" }).waitFor()
    await settled(page)
    await shows(page, "You said: number now")
    assert.strictEqual(await page.getByText("word40").count(), 0)
  })

  it("answers a question of a tool by a form, also after a reload", async () => {
    const page = await chat(themed)
    const form = page.getByRole("region", { name: "Which room?" })
    await say(
      page,
      `ask:${JSON.stringify({ question: "Which room?", kind: "choice", choices: ["Sea", "<b>Yard</b>"] })}`
    )
    await form.waitFor()
    await page.getByText("Answer the question above first, or cancel.").first().waitFor()
    assert.deepStrictEqual(await problemsOf(page), [], theme)
    await page.reload()
    assert.isTrue(await form.getByRole("button", { name: "Answer", exact: true }).isDisabled())
    await form.getByRole("radio", { name: "<b>Yard</b>" }).check()
    await form.getByRole("button", { name: "Answer", exact: true }).click()
    await shows(page, /The user says .*Yard/)
    await settled(page)
    await ask(page, `ask:${JSON.stringify({ question: "Your name?", kind: "text" })}`)
    const name = page.getByRole("region", { name: "Your name?" })
    await name.getByRole("textbox").fill("Ada")
    await name.getByRole("button", { name: "Answer", exact: true }).click()
    await shows(page, /The user says .*Ada/)
    await settled(page)
    await ask(page, `ask:${JSON.stringify({ question: "Go on?", kind: "confirmation" })}`)
    await page.getByRole("region", { name: "Go on?" }).getByRole("button", { name: "Yes" }).click()
    await shows(page, /The user says .*true/)
    await settled(page)
    await input(page).waitFor()
  })

  it("colours code, which stays text", async () => {
    const page = await chat(themed)
    await ask(page, "markdown")
    await eventually(async () => await page.locator(".code-word", { hasText: "const" }).count() === 1)
    assert.strictEqual(await page.getByRole("region", { name: "Code: ts" }).textContent(), "const days = 2\n")
    assert.deepStrictEqual(await problemsOf(page), [], theme)
  })
})

/** The trip planner's chat in a browser: results, failures and answers as they stream. */
import { assert, it } from "vitest"
import { describeInBrowser } from "../../../packages/studio/test/support/browser.ts"
import { answers, ask, button, eventually, say, settled, shows } from "../../../packages/studio/test/support/talk.ts"
import { call, tripPlanner } from "./support/tripPlanner.ts"

describeInBrowser("the trip planner", (pages) => {
  const { as, requests } = tripPlanner(pages)

  /** The model's view of the conversation, as text. */
  const told = () => JSON.stringify(requests().at(-1)?.prompt)

  it("1. results belong to their calls: a reload shows them unchanged, once", async () => {
    const page = await as("ada")
    await ask(page, "hotels and trips")
    const seen = async () => {
      await page.locator("details.call").evaluateAll((all) => {
        for (const details of all as Array<HTMLDetailsElement>) details.open = true
      })
      return await page.getByRole("log").innerText()
    }
    const live = await seen()
    assert.strictEqual(await page.locator("details.call").count(), 2)
    assert.include(live, "Alfama")
    await page.reload()
    await shows(page, "Done. What else may I do?")
    assert.strictEqual(await seen(), live)
  })

  it("2. a call is one line; a failure is a sentence; text is text", async () => {
    const page = await as("ada")
    await ask(page, "Atlantis <b onclick=alert(1)>bold</b>")
    const line = await call(page, "Search hotels").locator("summary").innerText()
    assert.include(line, "A service that is needed is not available at the moment.")
    assert.notMatch(line, /[{}]|HotelsDown/)
    assert.strictEqual(await page.locator("main b").count(), 0)
    await ask(page, "Who am I?")
    assert.match(await call(page, "Who am i").locator("summary").innerText(), /Who am i[\s\S]*failed/)
    assert.strictEqual(await page.getByText("tool_not_found").count(), 0)
  })

  it("3. a failed call is reported and forgotten, a success kept", async () => {
    const page = await as("ada")
    await ask(page, "hotels and trips")
    assert.include(await call(page, "Search hotels").textContent(), "failed")
    assert.include(told(), "search_hotels")
    await ask(page, "and now?")
    assert.notInclude(told(), "search_hotels")
    assert.include(told(), "list_trips")
    assert.include(told(), "Alfama")
  })

  it("4. unknown arguments, three failed rounds or a permanent failure end turns", async () => {
    const page = await as("ada")
    await ask(page, "add a place")
    await shows(page, "Please tell me more: which trip, place, hotel or note do you mean?")
    assert.strictEqual(requests().length, 1)
    await ask(page, "Who am I?")
    assert.strictEqual(requests().length, 4)
    await shows(page, "This took more than it may. I stopped.")
    await ask(page, "closed account")
    await shows(page, "The service is not available.")
    assert.strictEqual(requests().length, 5)
    assert.notInclude(await page.getByRole("log").innerText(), "acct-4711")
    // The next turn starts from known facts.
    await ask(page, "Which trips do I have?")
    await shows(page, "Done. What else may I do?")
  })

  it("5. each kind of failure of the model has its own fixed sentence", async () => {
    const page = await as("ada")
    const sentences = new Set<string>()
    for (const kind of ["authentication", "rate limit", "bad request", "connection"]) {
      await ask(page, `model: ${kind}`)
      const sentence = await page.locator(".failure p").last().innerText()
      assert.notMatch(sentence, /Error|http|localhost|scripted/)
      sentences.add(sentence)
      await page.reload()
      await shows(page, sentence)
    }
    assert.strictEqual(sentences.size, 4)
  })

  it("8. the agent's tools are listed by name and description", async () => {
    const page = await as("ada")
    await page.getByText("What it can do").click()
    const abilities = await page.locator(".abilities").innerText()
    for (const text of ["Search hotels", "Finds hotels in a city", "Add note", "Notes something about a trip"]) {
      assert.include(abilities, text)
    }
  })

  it("9. an answer streams in the last bubble; Escape and outside clicks close", async () => {
    const page = await as("ada")
    await page.setViewportSize({ width: 600, height: 700 })
    await say(page, "Plan my days in Lisbon")
    await eventually(async () => /Here is a plan/.test(await answers(page).last().innerText().catch(() => "")))
    assert.strictEqual(await answers(page).last().getAttribute("aria-busy"), "true")
    assert.strictEqual(await answers(page).count(), 1)
    await settled(page)
    assert.strictEqual(await answers(page).last().getAttribute("aria-busy"), "false")
    await answers(page).last().getByRole("cell", { name: "Sintra, by train" }).waitFor()
    const list = page.getByRole("navigation", { name: "Conversations" })
    for (const close of [() => page.keyboard.press("Escape"), () => page.mouse.click(580, 350)]) {
      await button(page, "Show conversations").click()
      await list.getByRole("link").first().waitFor()
      await close()
      await list.waitFor({ state: "hidden" })
    }
    await button(page, "Show conversations").click()
    await list.getByRole("listitem").first().hover()
    await button(page, /^Delete/).click()
    await page.keyboard.press("Escape")
    await page.getByRole("dialog").waitFor({ state: "hidden" })
    assert.strictEqual(await list.getByRole("link").count(), 1)
  })
})

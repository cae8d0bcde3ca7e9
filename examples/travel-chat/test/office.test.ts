/** The people of the travel office in a browser: their sign-in, their rights and their confirmations. */
import { assert, it } from "vitest"
import { problemsOf, theme, themed } from "../../../packages/studio/test/support/axe.ts"
import { describeInBrowser } from "../../../packages/studio/test/support/browser.ts"
import { ask, button, question, settled, shows } from "../../../packages/studio/test/support/talk.ts"
import { call, tripPlanner } from "./support/tripPlanner.ts"

describeInBrowser("the travel office", (pages) => {
  const { context } = pages
  const { as, url } = tripPlanner(pages)

  it("6. every route needs a signed-in user, and hides others' data", async () => {
    for (const path of ["agents", "threads", "threads/t1", "runs", "agents/planner/chat/t1/stream", "v1/models"]) {
      assert.strictEqual((await fetch(`${url()}/${path}`)).status, 401, path)
    }
    const page = await (await context()).newPage()
    await page.goto(`${url()}/chat`)
    await shows(page, "You are not signed in.")
    const ada = await as("ada")
    await ask(ada, "Show Ben's trip")
    assert.include(await call(ada, "Show trip").textContent(), "There is no such trip.")
    const ben = await as("ben")
    await ben.goto(ada.url())
    await shows(ben, "This conversation does not exist.")
    assert.strictEqual(await ben.getByRole("navigation", { name: "Conversations" }).getByRole("link").count(), 0)
    await button(ben.getByRole("main"), "New conversation").click()
    await ask(ben, "Which trips do I have?")
    assert.include(await call(ben, "List trips").textContent(), "Oslo")
    assert.notInclude(await call(ben, "List trips").textContent(), "Lisbon")
  })

  it("7. missing arguments come from the trip; only first writes need confirmation", async () => {
    const page = await as("ada")
    await ask(page, "Book a hotel near my first stop")
    const search = call(page, "Search hotels")
    assert.include(await search.textContent(), "Casa do Rio, Alfama")
    assert.include(await search.textContent(), "Tried again after 0.2 s")
    assert.sameMembers(await question(page).locator("dd").allTextContents(), ["lisbon", "Casa do Rio", "3"])
    await shows(page, "This is the first change to this trip.")
    await button(page, "Allow").click()
    await shows(page, "Done. What else may I do?")
    await ask(page, "Note that the tickets are in the mail")
    await shows(page, "It is noted.")
    assert.strictEqual(await question(page).count(), 0)
    await ask(page, "Which trips do I have?")
    const trips = await call(page, "List trips").textContent()
    assert.include(trips, "Casa do Rio, 3 nights")
    assert.include(trips, "Tickets are in the mail")
    // Ben has no place and no confirmed trip: only his destination is known.
    const ben = await as("ben")
    await ask(ben, "Book a hotel")
    assert.include(await call(ben, "Search hotels").textContent(), "Casa do Rio, Oslo")
    await button(ben, "Decline…").click()
    await button(ben, "Decline").click()
    await settled(ben)
    await ask(ben, "Which trips do I have?")
    assert.notInclude(await call(ben, "List trips").textContent(), "3 nights")
  })

  it("10. has a start page for travellers and for the deciding operator", async () => {
    const window = await context(themed)
    const start = await window.newPage()
    await start.goto(`${url()}/chat`)
    await start.getByRole("link", { name: "Sign in" }).click()
    await start.getByRole("heading", { name: "Travel office" }).waitFor()
    assert.deepStrictEqual(await problemsOf(start), [], theme)
    await start.getByRole("link", { name: "Olga, the operator" }).click()
    await start.getByRole("navigation", { name: "Studio" }).waitFor()
    const ada = await as("ada")
    await ask(ada, "Book a hotel near my first stop")
    await question(ada).waitFor()
    await start.getByRole("link", { name: /^Approvals/ }).click()
    const card = start.getByRole("article", { name: /waits/ })
    await card.getByText("Book a hotel near my first stop").waitFor()
    await card.getByRole("button", { name: "Approve" }).click()
    // Her page hears of it by itself.
    await question(ada).waitFor({ state: "detached" })
    await settled(ada)
    await ada.getByRole("group").filter({ hasText: "Book hotel" }).last().locator("summary").click()
    await shows(ada, /Allowed by olga/)
    // The operator undoes the booking of the ended run.
    await start.getByRole("navigation", { name: "Studio" }).getByRole("link", { name: /^Runs/ }).click()
    await start.locator(".run-list a", { hasText: "Book a hotel near my first stop" }).first().click()
    await start.getByRole("tab", { name: /^Undo/ }).click()
    const booked = start.getByRole("article", { name: /^book_hotel/ })
    await booked.getByRole("button", { name: "Undo" }).click()
    await booked.getByRole("button", { name: "Undo it" }).click()
    await booked.getByText("Undone by olga.").waitFor()
    // The operator has no chat, and travellers no studio.
    await ada.goto(`${url()}/studio`)
    await ada.getByRole("alert").getByText("The studio is for others.").waitFor()
  })
})

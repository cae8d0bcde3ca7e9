/** The trip planner in a browser: how its chat behaves when something is missing, fails, or is written. */
import { ScriptedModel } from "@recourse/testing"
import type { Page } from "playwright-core"
import { assert, beforeEach, it } from "vitest"
import { problemsOf, theme, themed } from "../../../packages/studio/test/support/axe.ts"
import { describeInBrowser } from "../../../packages/studio/test/support/browser.ts"
import { serving } from "../../../packages/studio/test/support/serving.ts"
import {
  answers,
  ask,
  button,
  eventually,
  input,
  question,
  say,
  settled,
  shows
} from "../../../packages/studio/test/support/talk.ts"
import { layer } from "../src/office.ts"
import { script } from "../src/script.ts"

describeInBrowser("the trip planner", ({ context, ownServer }) => {
  let url: string
  let requests: Array<ScriptedModel.Request> = []
  beforeEach(async () => {
    requests = []
    const model = ScriptedModel.layer((request, index) => {
      requests.push(request)
      return script(request, index)
    })
    url = (await ownServer(() => serving(layer({ file: ":memory:", port: 0, model })))).url
  })

  const as = async (name: "ada" | "ben"): Promise<Page> => {
    const page = await (await context()).newPage()
    await page.goto(`${url}/sign-in/${name}`)
    await input(page).waitFor()
    return page
  }

  const call = (page: Page, name: string) => page.getByRole("group").filter({ hasText: name }).last()

  /** The model's view of the conversation, as text. */
  const told = () => JSON.stringify(requests.at(-1)?.prompt)

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
    assert.strictEqual(requests.length, 1)
    await ask(page, "Who am I?")
    assert.strictEqual(requests.length, 4)
    await shows(page, "This took more than it may. I stopped.")
    await ask(page, "closed account")
    await shows(page, "The service is not available.")
    assert.strictEqual(requests.length, 5)
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

  it("6. every route needs a signed-in user, and hides others' data", async () => {
    for (const path of ["agents", "threads", "threads/t1", "runs", "agents/planner/chat/t1/stream", "v1/models"]) {
      assert.strictEqual((await fetch(`${url}/${path}`)).status, 401, path)
    }
    const page = await (await context()).newPage()
    await page.goto(`${url}/chat`)
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

  it("10. has a start page for travellers and for the deciding operator", async () => {
    const window = await context(themed)
    const start = await window.newPage()
    await start.goto(`${url}/chat`)
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
    await ada.goto(`${url}/studio`)
    await ada.getByRole("alert").getByText("The studio is for others.").waitFor()
  })
})

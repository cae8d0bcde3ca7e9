/** The operator's page in a browser: a person's actions on running and ended runs. */
import { Effect } from "effect"
import type { Page } from "playwright-core"
import { assert, beforeAll, describe, it } from "vitest"
import { describeInBrowser } from "../support/browser.ts"
import { evil, serveDesk } from "../support/desk.ts"
import { row, rows, step, tab } from "../support/operator.ts"
import { eventually } from "../support/talk.ts"

const button = (page: Page, name: string) => page.getByRole("button", { name, exact: true })

const shown = (page: Page, text: string) => page.getByText(text).first().waitFor()

const status = (page: Page) => page.locator(".run-title .status").textContent()

describeInBrowser("the studio", ({ page: open, server }) => {
  const desk = server(serveDesk)
  let trip: string
  let odd: string
  const studio = (route = "", options?: Parameters<typeof open>[1]) => open(`${desk().url}/studio${route}`, options)
  beforeAll(async () => {
    trip = await desk().begin("trip")
    odd = await desk().begin("evil")
    await desk().ended(trip)
    await desk().ended(odd)
  }, 60_000)

  describe("runs", () => {
    it("appear on top of the list, are followed live, and stopped", async () => {
      const page = await studio()
      await shown(page, "Choose a run")
      const runId = await desk().begin("hang", "carla")
      await page.getByRole("link", { name: /carla/ }).click()
      await row(page, /^turn 1 running/).waitFor()
      assert.strictEqual(await status(page), "running")
      await button(page, "Stop").click()
      await eventually(async () => (await status(page)) === "cancelled")
      await row(page, /^turn 1 (failure|stopped)/).waitFor()
      assert.strictEqual((await Effect.runPromise(desk().runs.get(runId))).status, "cancelled")
      assert.strictEqual(await button(page, "Stop").count(), 0)
    })

    it("have the chosen fault of the next one, and only that", async () => {
      const page = await studio()
      await page.getByText("Inject a fault").click()
      const form = page.getByRole("form", { name: "Fault of the next run" })
      await form.getByLabel("Where").selectOption("search_flights")
      await form.getByLabel("What").selectOption("defect")
      await button(page, "Inject into the next run").click()
      await form.getByText("search_flights: defect at execution 1").waitFor()
      const faulty = await desk().begin("trip", "fay")
      const plain = await desk().begin("trip", "pia")
      await desk().ended(faulty)
      await desk().ended(plain)
      assert.strictEqual((await Effect.runPromise(desk().runs.get(faulty))).status, "failed")
      assert.strictEqual((await Effect.runPromise(desk().runs.get(plain))).status, "completed")
      await page.getByRole("link", { name: /fay/ }).click()
      await row(page, /^call search_flights failure/).first().waitFor()
    })

    it("are found by status, agent, owner and id", async () => {
      const page = await studio()
      const links = page.locator(".run-list a")
      await links.first().waitFor()
      await page.getByText("More filters").click()
      await page.getByRole("searchbox", { name: "Run id" }).fill(trip)
      await eventually(async () => (await links.count()) === 1)
      await page.getByRole("combobox", { name: "Status" }).selectOption("failed")
      await shown(page, "No run fits.")
      await page.getByRole("combobox", { name: "Status" }).selectOption("")
      await page.getByRole("searchbox", { name: "Owner" }).fill("ada")
      await links.click()
      await eventually(() => Promise.resolve(page.url().includes(`#/runs/${trip}?owner=ada&run=${trip}`)))
      await tab(page, "Decisions").click()
      await page.getByRole("button", { name: "Show step" }).first().click()
      // The filter, the step and the tab are in the address.
      await page.reload()
      await step(page).waitFor()
      assert.strictEqual(await links.count(), 1)
      await tab(page, "Failures").click()
      await page.reload()
      await page.getByRole("tabpanel", { name: /Failures/ }).waitFor()
    })
  })

  describe("a run", () => {
    it("shows a run as turns, calls, attempts, waits and inner agents", async () => {
      const page = await studio(`#/runs/${trip}`)
      await row(page, /^call find_seat success/).waitFor()
      const names = await rows(page).evaluateAll((all) =>
        all.map((option) => (option.textContent ?? "").replaceAll(/\s+/g, " ").trim())
      )
      for (
        const name of [
          /^agent travel success/,
          /^attempt 1 failure .*ExecutionError: Down/,
          /^wait success .*50 ms/,
          /^attempt 3 success/,
          /^agent seats success/,
          /^fix nearest_row success .*arguments/,
          /^call search_flights failure/
        ]
      ) assert.isTrue(names.some((label) => name.test(label)), String(name))
      // A bar has the position of its step, and ends within the run.
      const tracks = await page.locator(".track").evaluateAll((all) =>
        all.map((track) => {
          const [box, bar] = [track.getBoundingClientRect(), track.firstElementChild!.getBoundingClientRect()]
          return bar.left >= box.left - 1 && bar.right <= box.right + 4
        })
      )
      assert.isTrue(tracks.every(Boolean))
      const meter = page.getByRole("meter", { name: "Turns of travel" })
      assert.strictEqual(await meter.getAttribute("aria-valuetext"), "6 of 8")
    })

    it("explains a step, its failure's texts, and the next model request", async () => {
      const page = await studio(`#/runs/${trip}`)
      await row(page, /^call search_flights failure/).click()
      const panel = step(page)
      await panel.getByText("search_flights is left to the model").waitFor()
      const last = panel.locator(".failure-card.final")
      const read = (audience: string) => last.getByRole("group", { name: `The ${audience} reads` }).textContent()
      assert.include(await read("model"), "Tool execution failed")
      assert.include(await read("user"), "Something went wrong")
      assert.include(await read("operator"), "Down")
      assert.notInclude(`${await read("model")}${await read("user")}`, "Down")
      const next = panel.getByRole("region", { name: "Model request" })
      await next.getByText("failure of search_flights").waitFor()
      assert.strictEqual(await next.locator(".message.new").count(), 2)
      const before = await next.locator(".message").count()
      await next.getByRole("button", { name: /Show \d+ messages as before/ }).click()
      assert.isAbove(await next.locator(".message").count(), before)
      assert.include(await next.locator(".message").first().textContent(), "You book flights.")
    })

    it("reads a run with the keyboard alone", async () => {
      const page = await studio(`#/runs/${trip}`)
      await rows(page).first().waitFor()
      const list = page.getByRole("listbox", { name: "Steps of the run" })
      await list.focus()
      await page.keyboard.press("ArrowDown")
      await page.keyboard.press("ArrowDown")
      await step(page).getByRole("heading", { name: "turn 1" }).waitFor()
      await page.keyboard.press("End")
      await step(page).getByRole("heading", { name: "turn 4" }).waitFor()
      const active = await list.getAttribute("aria-activedescendant")
      assert.strictEqual(await page.locator(`#${active}`).getAttribute("aria-selected"), "true")
      for (const close of ["the list", "the step"]) {
        if (close === "the step") await button(page, "Close the step").focus()
        await page.keyboard.press("Escape")
        await step(page).waitFor({ state: "detached" })
        // The keyboard focus is in the list.
        await page.keyboard.press("End")
        await step(page).getByRole("heading", { name: "turn 4" }).waitFor()
      }
      await tab(page, "Waterfall").focus()
      await page.keyboard.press("ArrowRight")
      await page.getByRole("tabpanel", { name: /Decisions/ }).waitFor()
      await page.keyboard.press("ArrowLeft")
      await page.keyboard.press("ArrowLeft")
      await page.getByRole("tabpanel", { name: /Events/ }).waitFor()
    })

    it("lists its decisions in order, with the step of each", async () => {
      const page = await studio(`#/runs/${trip}`)
      await tab(page, "Decisions").click()
      const kinds = await page.locator(".decisions .chip").allTextContents()
      assert.deepStrictEqual(kinds, ["retry", "retry", "fix", "retry", "retry", "escalation"])
      await page.getByRole("button", { name: "Show step" }).nth(2).click()
      await step(page).getByRole("heading", { name: "nearest_row" }).waitFor()
    })

    it("replays a run from any of its events, and to its end", async () => {
      const page = await studio(`#/runs/${trip}`)
      await row(page, /^call find_seat/).waitFor()
      const all = await rows(page).count()
      const slider = page.getByRole("slider", { name: "Event" })
      const last = Number(await slider.getAttribute("max"))
      await slider.fill("8")
      assert.isBelow(await rows(page).count(), all)
      await row(page, /^call search_flights running/).waitFor()
      await page.getByRole("combobox", { name: "Speed" }).selectOption("64")
      await button(page, "Play the run again").click()
      await eventually(async () => Number(await slider.inputValue()) === last)
      await row(page, /^agent travel success/).waitFor()
      await slider.fill("0")
      await eventually(async () => (await rows(page).count()) === 0)
      await button(page, "End").click()
      await row(page, /^agent travel success/).waitFor()
      assert.strictEqual(await rows(page).count(), all)
    })

    it("with a possible write shows it everywhere, also compared", async () => {
      const runId = await desk().begin("unsure")
      await desk().ended(runId)
      const page = await studio(`#/runs/${runId}`)
      await row(page, /^call charge unknown/).waitFor()
      assert.strictEqual(await status(page), "completed")
      await page.locator(".run-title").getByText("outcome unknown").waitFor()
      await page.goto(`${desk().url}/studio#/compare/${runId}/${trip}`)
      const facts = page.getByRole("row", { name: /^Outcomes unknown/ })
      await eventually(async () => /unknown10−1/.test((await facts.textContent() ?? "").replaceAll(" ", "")))
      await page.getByRole("row", { name: /^Status/ }).getByText("outcome unknown").waitFor()
    })

    it("that there is not has a sentence", async () => {
      const page = await studio("#/runs/none")
      await page.getByRole("alert").first().waitFor()
      assert.include(await page.getByRole("alert").first().textContent(), "none")
    })
  })

  describe("approvals", () => {
    it("lists approvals of all runs, given unchanged or edited", async () => {
      const first = await desk().begin("book", "bob")
      const second = await desk().begin("book", "carla")
      const third = await desk().begin("book", "dan")
      const page = await studio("#/approvals")
      const card = (owner: string) =>
        page.getByRole("article", { name: "book waits" }).filter({
          has: page.getByRole("link", { name: `travel of ${owner}` })
        })
      await card("bob").getByText("\"price\": 180").waitFor()
      await card("bob").getByRole("button", { name: "Approve" }).click()
      await card("bob").waitFor({ state: "detached" })
      await card("carla").getByRole("button", { name: "Edit" }).click()
      await card("carla").getByRole("textbox", { name: "Arguments" }).fill("{")
      await card("carla").getByRole("button", { name: "Approve as edited" }).click()
      await shown(page, "These arguments are no JSON.")
      await card("carla").getByRole("textbox", { name: "Arguments" }).fill(
        JSON.stringify({ flight: "Berlin-Porto 204", price: 150 })
      )
      await card("carla").getByRole("button", { name: "Approve as edited" }).click()
      await card("carla").waitFor({ state: "detached" })
      await card("dan").getByRole("link").click()
      // A run that waits shows its question, and how long it has waited.
      await row(page, /^question approval waiting/).waitFor()
      const own = page.getByRole("article", { name: "book waits" })
      await own.getByRole("button", { name: "Reject" }).click()
      await own.getByRole("textbox").fill("Too dear")
      await own.getByRole("button", { name: "Reject the call" }).click()
      await eventually(async () => (await status(page)) === "completed")
      await Promise.all([first, second, third].map(desk().ended))
      assert.deepStrictEqual(desk().deeds.toSorted(), ["Berlin-Porto 204 for 150", "Berlin-Porto 204 for 180"])
      await tab(page, "Decisions").click()
      await shown(page, "book is rejected by olga: Too dear")
    })
  })

  describe("two runs", () => {
    it("are side by side, with their differences", async () => {
      const page = await studio(`#/runs/${trip}`)
      await page.getByRole("link", { name: "Compare" }).click()
      // The filter of the list has a field of the same name.
      await page.getByRole("region", { name: "Compare" }).getByRole("searchbox", { name: "Run id" }).fill(odd)
      await eventually(async () => (await page.locator(".chooser a").count()) === 1)
      await page.locator(".chooser a").click()
      const turns = page.getByRole("row", { name: /^Turns/ })
      await eventually(async () => /Turns62−4/.test((await turns.textContent() ?? "").replaceAll(" ", "")))
      assert.isAbove(await page.locator(".steps .parted").count(), 2)
      assert.isAbove(await page.locator(".steps .shared").count(), 0)
    })
  })

  it("shows model and tool output as text everywhere", async () => {
    const page = await studio(`#/runs/${odd}`)
    await row(page, /^call search_flights/).click()
    await step(page).getByText("onerror").first().waitFor()
    for (const name of ["Decisions", "Failures", "Requests", "Events"]) {
      await tab(page, name).click()
      if (name === "Requests") await page.locator(".request").getByText("onerror").first().waitFor()
    }
    await page.goto(`${desk().url}/studio#/runs/${trip}`)
    await tab(page, "Failures").click()
    await shown(page, "The operator reads")
    await page.goto(`${desk().url}/studio#/compare/${odd}/${trip}`)
    await page.locator(".steps").getByText("onerror").first().waitFor()
    await page.goto(`${desk().url}/studio#/runs/${encodeURIComponent(evil)}`)
    await page.getByRole("alert").first().waitFor()
    assert.isUndefined(await page.evaluate(() => (window as { readonly hacked?: unknown }).hacked))
    assert.strictEqual(await page.locator("img").count(), 0)
  })
})

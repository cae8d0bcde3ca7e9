/**
 * The operator's page in a browser: runs are found and counted, calls are checked, and each operator sees the allowed
 * actions.
 */
import { FaultPlan, Replay } from "@recourse/testing"
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import type { Page } from "playwright-core"
import { assert, beforeAll, it } from "vitest"
import { problemsOf } from "../support/axe.ts"
import { describeInBrowser } from "../support/browser.ts"
import { serveDesk } from "../support/desk.ts"
import { row } from "../support/operator.ts"
import { eventually } from "../support/talk.ts"

const button = (page: Page, name: string) => page.getByRole("button", { name, exact: true })

const shown = (page: Page, text: string) => page.getByText(text).first().waitFor()

describeInBrowser("lists of the studio", ({ context, page: open, server }) => {
  const desk = server(serveDesk)
  const studio = (route = "", options?: Parameters<typeof open>[1]) => open(`${desk().url}/studio${route}`, options)
  beforeAll(async () => {
    for (const script of ["trip", "evil", "unsure"] as const) await desk().ended(await desk().begin(script))
  }, 60_000)

  it("are for operators: others have no buttons, or must sign in", async () => {
    const waiting = await desk().begin("book", "nina")
    const unsure = await desk().begin("unsure", "nina")
    await desk().ended(unsure)
    const window = await context()
    await window.addCookies([{ name: "who", value: "otto", url: desk().url }])
    const page = await window.newPage()
    for (const route of ["#/approvals", `#/runs/${waiting}`]) {
      await page.goto(`${desk().url}/studio${route}`)
      await page.getByRole("article", { name: "book waits" }).first().waitFor()
      await shown(page, "Somebody with the right to decide has to answer.")
      assert.strictEqual(await page.getByRole("button", { name: /^(Approve|Edit|Reject)$/ }).count(), 0)
    }
    await page.goto(`${desk().url}/studio#/checks`)
    await shown(page, "Somebody with the right to decide has to record")
    assert.strictEqual(await page.getByRole("button", { name: /^It has/ }).count(), 0)
    assert.strictEqual(await page.getByRole("link", { name: "Chat" }).count(), 0)
    await window.addCookies([{ name: "who", value: "nobody", url: desk().url }])
    for (const path of ["studio", "chat"]) {
      await page.goto(`${desk().url}/${path}?signed-out`)
      await page.getByRole("alert").getByText("You are not signed in.").waitFor()
      assert.strictEqual(
        await page.getByRole("link", { name: "Sign in" }).getAttribute("href"),
        "/start?from=\"studio\""
      )
    }
    await window.addCookies([{ name: "who", value: "otto", url: desk().url }])
    await page.goto(`${desk().url}/chat?no-chat`)
    await page.getByRole("alert").getByText("The chat is for others.").waitFor()
    await Effect.runPromise(desk().runs.cancel(waiting))
  })

  it("have a row per run with subject and outcome; similar ones are found", async () => {
    const runId = await desk().begin("unsure", "vera")
    await desk().ended(runId)
    const page = await studio("#/runs?owner=vera")
    const link = page.locator(".run-list a")
    await eventually(async () => /do: unsure.*outcome unknown/.test(await link.first().textContent() ?? ""))
    await link.click()
    await page.getByRole("link", { name: "Runs like this one" }).click()
    await eventually(async () => {
      const texts = await link.allTextContents()
      return texts.length > 1 && texts.every((text) => text.includes("do: unsure"))
    })
    await button(page, "Show all").click()
    await page.getByRole("searchbox", { name: "Asked or answered" }).fill("MAY HAVE BEEN CHARGED")
    await eventually(async () => (await link.allTextContents()).every((text) => text.includes("do: unsure")))
    await page.getByRole("searchbox", { name: "Asked or answered" }).fill("")
    await page.getByRole("combobox", { name: "Status" }).selectOption("unknown")
    await eventually(async () => {
      const texts = await link.allTextContents()
      return texts.length > 1 && texts.every((text) => text.includes("outcome unknown"))
    })
  })

  it("have a possible call, which a person checks in one place", async () => {
    const runId = await desk().begin("unsure", "willa")
    await desk().ended(runId)
    const page = await studio("#/checks")
    const card = page.getByRole("article", { name: "charge is to be checked" }).filter({
      has: page.getByRole("link", { name: "travel of willa" })
    })
    await card.getByText("\"euros\": 90").waitFor()
    await card.getByRole("button", { name: "It has not happened" }).click()
    await card.getByRole("textbox").fill("Not in the ledger of the bank")
    await card.getByRole("button", { name: "Record: it has not happened" }).click()
    await card.waitFor({ state: "detached" })
    await page.goto(`${desk().url}/studio#/runs/${runId}?tab=Outcomes`)
    await shown(page, "It has not happened: olga")
    await shown(page, "Not in the ledger of the bank")
    assert.strictEqual(await page.locator(".run-title").getByText("outcome unknown").count(), 0)
  })

  it("have two requests of a run to compare, and each to save without secrets", async () => {
    const runId = await desk().begin("trip", "rita")
    await desk().ended(runId)
    const page = await studio(`#/runs/${runId}?tab=Requests`)
    await page.getByRole("combobox", { name: "Compared with" }).selectOption({ index: 1 })
    await page.getByText(/messages? (is|are) the same/).waitFor()
    assert.isAbove(await page.locator(".line-new").count(), 0)
    assert.deepStrictEqual(await problemsOf(page), [])
    const [download] = await Promise.all([page.waitForEvent("download"), button(page, "Download").click()])
    const saved = JSON.parse(readFileSync(await download.path(), "utf8")) as {
      readonly messages: ReadonlyArray<unknown>
    }
    assert.isAbove(saved.messages.length, 1)
  })

  it("have the entries of the ledger that no run names, which a person checks as well", async () => {
    const page = await studio("#/checks")
    const entry = page.getByRole("article", { name: "transfer, entry of the ledger, is to be checked" })
    await entry.getByText("in the ledger alone").waitFor()
    await entry.getByRole("button", { name: "It has happened" }).click()
    assert.deepStrictEqual(await problemsOf(page), [])
    await entry.getByRole("textbox", { name: /How do you know/ }).fill("The bank has it")
    await entry.getByRole("button", { name: "Record: it has happened" }).click()
    await entry.waitFor({ state: "detached" })
  })

  it("count the runs of a time, and link to them", async () => {
    const page = await studio("#/overview")
    const tile = (name: string) => page.locator(".tile").filter({ hasText: name })
    await eventually(async () => Number(await tile("Runs").locator("a").textContent()) > 4)
    await page.getByRole("combobox", { name: "Time" }).selectOption("1")
    await eventually(() => Promise.resolve(page.url().endsWith("#/overview?hours=1")))
    await page.getByRole("img", { name: /runs; at most/ }).waitFor()
    await page.getByRole("row", { name: /search_flights execution_error/ }).getByRole("link").click()
    await row(page, /nothing/).waitFor({ state: "detached" })
    await eventually(async () => {
      const texts = await page.locator(".run-list a").allTextContents()
      return texts.length > 0 && texts.every((text) => /do: (trip|evil)/.test(text))
    })
  })

  it("have each run to save: a log, and a replaying test", async () => {
    const runId = await desk().begin("trip", "sara")
    await desk().ended(runId)
    const page = await studio(`#/runs/${runId}`)
    await page.getByText("Save", { exact: true }).click()
    const saved = async (name: RegExp) => {
      const [download] = await Promise.all([page.waitForEvent("download"), page.getByText(name).click()])
      return { name: download.suggestedFilename(), text: readFileSync(await download.path(), "utf8") }
    }
    const log = await saved(/as a log/)
    assert.strictEqual(log.name, `${runId}.jsonl`)
    const events = await Effect.runPromise(Replay.parseLog(log.text))
    assert.deepStrictEqual([events[0]?._tag, events.at(-1)?._tag], ["RunStarted", "RunFinished"])
    const test = await saved(/replays the log/)
    assert.strictEqual(test.name, `${runId}.test.ts`)
    assert.include(test.text, `./${runId}.jsonl`)
    assert.include(test.text, "of agent \"travel\"")
    await page.getByText("Save", { exact: true }).click()
    const [plan] = await Promise.all([page.waitForEvent("download"), page.getByText(/A fault plan/).click()])
    assert.strictEqual(plan.suggestedFilename(), `${runId}.faults.json`)
    const { injections } = await Effect.runPromise(FaultPlan.parse(readFileSync(await plan.path(), "utf8")))
    assert.isAbove(injections.length, 2)
    await page.setViewportSize({ width: 375, height: 812 })
    await page.getByText("Save", { exact: true }).click()
    const box = await page.locator(".menu").boundingBox()
    assert.isAtLeast(box!.x, 0)
    assert.isAtMost(box!.x + box!.width, 375)
  })
})

/** The built page in a browser, below a path of a static server. */
import { join } from "node:path"
import type { Page } from "playwright-core"
import { assert, it } from "vitest"
import { problemsOf, themed } from "../../../../packages/studio/test/support/axe.ts"
import { describeInBrowser } from "../../../../packages/studio/test/support/browser.ts"
import { faultsOf, frequencies, parseChoice, printChoice, programs } from "../../src/choice.ts"
import { agentFile, worldFile } from "../../src/program.ts"
import { runProgram } from "../../src/run/program.ts"
import { cases } from "../../src/words.ts"
import { serveFolder } from "../support/staticServer.ts"

/** One of so many combinations; all of them with `RECOURSE_EVERY_STEP`. */
const stride = process.env["RECOURSE_EVERY_STEP"] === undefined ? 16 : 1
const from = Number(process.env["RECOURSE_SEED"] ?? Math.floor(Math.random() * 1_000)) % stride

/** Waits until the page shows the run of its address. */
const shown = (page: Page) =>
  page.waitForFunction(() => document.querySelector("#results")?.getAttribute("data-query") === location.search)

const drawnQueries = programs.flatMap((program) =>
  faultsOf(program.tool).flatMap((fault) => frequencies.map((often) => printChoice({ ...program, fault, often })))
).filter((_, index) => index % stride === from)

/** The run that the page shows. */
const shownRun = (page: Page) =>
  page.evaluate(() => {
    const textOf = (parent: ParentNode, selector: string): string => parent.querySelector(selector)?.textContent ?? ""
    const answer = document.querySelector(".outcome .answer")!
    return {
      title: textOf(document, ".outcome h2"),
      answer: answer.querySelector("q")?.textContent ?? answer.textContent,
      timeline: [...document.querySelectorAll(".timeline li")].map((line) => [
        textOf(line, ".at"),
        line.querySelector(".text")!.lastChild!.textContent
      ]),
      services: [...document.querySelectorAll(".services li")].map((line) => [textOf(line, "code"), line.className])
    }
  })

const outcome = (page: Page) => page.getByRole("region", { name: "Outcome" })

/** Shows each address in the page, and returns the broken promises. */
const brokenPromises = (page: Page, queries: ReadonlyArray<string>): Promise<ReadonlyArray<string>> =>
  page.evaluate(async (queries) => {
    const broken: Array<string> = []
    const results = document.querySelector<HTMLElement>("#results")!
    for (const query of queries) {
      history.replaceState(null, "", query)
      dispatchEvent(new PopStateEvent("popstate"))
      for (let waits = 0; results.dataset["query"] !== query; waits++) {
        if (waits > 2000) return [...broken, `${query}: no result`]
        await new Promise((resolve) => setTimeout(resolve, 5))
      }
      const title = document.querySelector(".outcome h2")!.textContent
      const errors = [...document.querySelectorAll(".errors li:not(.handled) code")].map(({ textContent }) =>
        textContent
      )
      const [, tag] = /^The run ends with (.*)$/.exec(title) ?? []
      if (tag !== undefined && !errors.some((member) => member.replace(/<.*/, "") === tag)) {
        broken.push(`${query}: ${tag}`)
      }
      if (document.querySelectorAll(".services .done").length > 1) broken.push(`${query}: a write happened twice`)
      const isRefused = document.querySelector(".refused") !== null
      if (isRefused !== (title === "There is no run")) broken.push(`${query}: ${title}`)
    }
    return broken
  }, queries)

describeInBrowser("playground", ({ page: open, server }) => {
  const site = server(() => serveFolder(join(import.meta.dirname, "../../../public"), "/some/base/"))
  const playground = (query = "", options?: Parameters<typeof open>[1]) =>
    open(`${site().url}playground/${query}`, options)

  it("keeps its promises in drawn combinations", { timeout: 900_000 }, async () => {
    const page = await playground()
    await shown(page)
    await page.getByRole("region", { name: "Error type" }).getByText("AiError").waitFor()
    assert.deepStrictEqual(await brokenPromises(page, drawnQueries), [])
  })

  it("shows the run that Node runs, in drawn combinations", { timeout: 300_000 }, async () => {
    const page = await playground()
    const queries = [...cases.map(({ query }) => query), ...drawnQueries.filter((_, index) => index % 16 === 0)]
    for (const query of queries) {
      const choice = parseChoice(query)
      await page.evaluate((query) => {
        history.replaceState(null, "", query)
        dispatchEvent(new PopStateEvent("popstate"))
      }, query)
      await shown(page)
      const found = await shownRun(page)
      if (found.title === "There is no run") continue
      const report = await runProgram({
        agent: agentFile(choice),
        world: worldFile(choice),
        isStreaming: choice.fault === "cut-stream",
        isEdited: false
      })
      if ("problem" in report) throw new Error(`${query}: ${report.problem}`)
      const isSuccess = report.outcome === "success"
      assert.deepStrictEqual(found, {
        title: isSuccess ? "The run succeeds" : `The run ends with ${report.outcome}`,
        answer: isSuccess ? report.text : report.text.split("\n")[0]!,
        timeline: report.timeline.map(({ at, text }) => [at, text]),
        services: report.services.map(({ details, effect }) => [details, effect])
      }, query)
    }
  })

  it("holds an edited text in its address", async () => {
    const page = await playground("?tool=read&fault=none", {})
    await shown(page)
    await page.getByRole("button", { name: "Edit" }).click()
    await page.getByRole("textbox", { name: "Editor of agent.ts" }).click()
    await page.keyboard.press("ControlOrMeta+A")
    const text = agentFile(parseChoice("?tool=read&fault=none")).replace("Schema.String,", "Schema.Int,")
    await page.keyboard.insertText(text)
    await outcome(page).getByText("The run ends with InvalidResult").waitFor()
    await page.waitForFunction(() => location.hash.startsWith("#agent="))
    const link = page.url()
    await page.reload()
    await outcome(page).getByText("The run ends with InvalidResult").waitFor()
    await page.getByText("success: Schema.Int").waitFor()
    // A visitor who receives the link reads the text before it runs.
    const other = await open(link, {})
    await other.getByText("success: Schema.Int").waitFor()
    await outcome(other).getByText("comes from a link").waitFor()
    assert.deepStrictEqual(await problemsOf(other), [])
    await other.getByRole("button", { name: "Run the text" }).click()
    await outcome(other).getByText("The run ends with InvalidResult").waitFor()
    await other.getByRole("button", { name: "Discard edits" }).click()
    await outcome(other).getByText("The run succeeds").waitFor()
    assert.strictEqual(new URL(other.url()).hash, "")
  })

  it("reports a text that an address cannot hold", async () => {
    const page = await playground("?tool=read&fault=none#agent=%25", {})
    await page.getByRole("alert").getByText("cannot be read").waitFor()
    await page.getByRole("button", { name: "Edit" }).click()
    await page.getByRole("textbox", { name: "Editor of agent.ts" }).click()
    await page.keyboard.press("End")
    const long = Array.from({ length: 9_000 }, (_, index) => Math.imul(index + 1, 0x9e3779b1) >>> 0).join(" ")
    await page.keyboard.insertText(`/* ${long} */`)
    await page.getByRole("alert").getByText("too long for a link").waitFor({ timeout: 60_000 })
    assert.strictEqual(new URL(page.url()).hash, "")
  })

  it("requests only files of its own folder", async () => {
    const page = await playground("", {})
    const requested: Array<string> = []
    page.on("request", (request) => requested.push(request.url()))
    await page.reload()
    await shown(page)
    assert.isAbove(requested.length, 3)
    assert.deepStrictEqual(
      requested.filter((url) => !url.startsWith(`${site().url}playground/`) && !url.startsWith("blob:")),
      []
    )
  })

  it("holds the choice in its address", async () => {
    const page = await playground("?tool=write&fault=lost-answer&with=escalate")
    await shown(page)
    await outcome(page).getByText("I do not know if it was done").waitFor()
    await page.getByRole("checkbox", { name: /^Idempotency key/ }).click()
    await page.getByRole("checkbox", { name: /^Retry/ }).click()
    await shown(page)
    await outcome(page).getByText("known key: not done again").waitFor()
    assert.strictEqual(new URL(page.url()).search, "?tool=write&fault=lost-answer&with=key+retry+escalate")
    await page.reload()
    await shown(page)
    await outcome(page).getByText("known key: not done again").waitFor()
    assert.isTrue(await page.getByRole("checkbox", { name: /^Retry/ }).isChecked())
    await page.goBack()
    await page.goBack()
    await shown(page)
    assert.isFalse(await page.getByRole("checkbox", { name: /^Retry/ }).isChecked())
    await outcome(page).getByText("I do not know if it was done").waitFor()
    await page.goForward()
    await shown(page)
    assert.isTrue(await page.getByRole("checkbox", { name: /^Idempotency key/ }).isChecked())
  })

  it("copies a link to the choice", async () => {
    const page = await playground(cases[3]!.query, { permissions: ["clipboard-read", "clipboard-write"] })
    await shown(page)
    await page.getByRole("button", { name: "Copy link" }).click()
    await page.getByText("The link is copied").waitFor({ state: "attached" })
    assert.strictEqual(await page.evaluate(() => navigator.clipboard.readText()), page.url())
  })

  it("shows a type error in the editor and its fix", async () => {
    const page = await playground("?tool=read&fault=down&often=always&with=retry+escalate", {})
    await shown(page)
    const scripts: Array<string> = []
    page.on("request", (request) => scripts.push(request.url()))
    await page.getByRole("button", { name: "Edit" }).click()
    const editor = page.getByRole("textbox", { name: "Editor of agent.ts" })
    const errors = page.getByRole("region", { name: "Error type" })
    const write = async (change: (text: string) => string) => {
      await editor.click()
      await page.keyboard.press("ControlOrMeta+A")
      await page.keyboard.insertText(change(agentFile(parseChoice(new URL(page.url()).search))))
    }
    await errors.getByText("live, by TypeScript 5.9").waitFor()
    await errors.locator("li:not(.handled)", { hasText: "InvalidResult" }).waitFor({ timeout: 60_000 })
    // The editor and the compiler are loaded now, and were not before.
    assert.isTrue(scripts.some((url) => url.endsWith("types.bin")))
    await write((text) => text.replace("\"Timeout\"", "\"OutcomeUnknown\""))
    await errors.getByText("Line 16:").waitFor({ timeout: 60_000 })
    await errors.getByText("'\"OutcomeUnknown\"' is not assignable").first().waitFor()
    await page.locator(".cm-lintRange-error").waitFor()
    assert.deepStrictEqual(await problemsOf(page), [])
    await write((text) => text.replace(", \"Timeout\"", ""))
    await errors.getByText("Line 16:").waitFor({ state: "detached", timeout: 60_000 })
    await errors.locator("li.added, li:not(.handled)", { hasText: "Timeout" }).waitFor({ timeout: 60_000 })
    await outcome(page).getByText("I am sorry, it was not possible.").waitFor()
    // The edited text runs: without the escalation the run ends with the error.
    await write((text) => text.replace(/,\n +Recovery.escalate.*/, ""))
    await outcome(page).getByText("The run ends with ExecutionError").waitFor()
    await errors.locator("li.hit", { hasText: "ExecutionError<OrdersDown>" }).waitFor({ timeout: 60_000 })
    await page.getByRole("button", { name: "Discard edits" }).click()
    await outcome(page).getByText("I am sorry, it was not possible.").waitFor()
    await errors.getByText("by the compiler, TypeScript 7").waitFor()
  })

  it("stops an edited program that does not end", async () => {
    const page = await playground("", {})
    await shown(page)
    await page.getByRole("button", { name: "Edit" }).click()
    await page.getByRole("textbox", { name: "Editor of agent.ts" }).click()
    await page.keyboard.press("ControlOrMeta+A")
    await page.keyboard.insertText("while (true) {}\n")
    await outcome(page).getByText("The program did not end.").waitFor({ timeout: 60_000 })
    await page.getByRole("button", { name: "Discard edits" }).click()
    await outcome(page).getByText("The run ends with ExecutionError").waitFor({ timeout: 60_000 })
  })

  it("is used by keyboard", async () => {
    const page = await playground("", {})
    await shown(page)
    await page.keyboard.press("Tab")
    await page.keyboard.press("Enter")
    assert.strictEqual(await page.evaluate(() => document.activeElement?.id), "results")
    await page.getByRole("radio", { name: /^A read/ }).focus()
    await page.keyboard.press("ArrowDown")
    await page.waitForURL(/tool=write/)
    await page.getByRole("tab", { name: "agent.ts" }).focus()
    await page.keyboard.press("ArrowRight")
    await page.getByRole("tab", { name: "world.ts", selected: true }).waitFor()
    await page.getByRole("checkbox", { name: /^Escalate/ }).focus()
    await page.keyboard.press("Space")
    await page.waitForURL(/with=escalate/)
  })

  it("passes axe, wide and narrow, in both themes", { timeout: 300_000 }, async () => {
    for (const colorScheme of ["light", "dark"] as const) {
      for (const width of [1280, 375]) {
        const page = await playground("", { ...themed, colorScheme, viewport: { width, height: 812 } })
        for (const { query } of [cases[0]!, cases[4]!, cases[5]!]) {
          await page.evaluate((query) => {
            history.replaceState(null, "", query)
            dispatchEvent(new PopStateEvent("popstate"))
          }, query)
          await shown(page)
          await page.locator(".errors li, .refused").first().waitFor()
          assert.deepStrictEqual(await problemsOf(page), [], `${colorScheme} ${width} ${query}`)
          const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
          assert.isAtMost(overflow, 0, `${width} ${query}`)
        }
      }
    }
  })
})

/**
 * Chromium for tests: that of this machine. A machine without one says which tests were not run; what they test of the pages'
 * logic is tested without a browser, too.
 */
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core"
import { existsSync } from "node:fs"
import { afterAll, afterEach, beforeAll, describe } from "vitest"

const usual = [
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
  "/usr/bin/google-chrome-stable",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"
]

const given = process.env["TEST_CHROMIUM"]
if (given !== undefined && given !== "" && !existsSync(given)) {
  throw new Error(`There is no browser at TEST_CHROMIUM: ${given}`)
}

/** Where the browser is; nothing on a machine without one, and where `TEST_CHROMIUM` is empty. */
export const executablePath = given === "" ? undefined : given ?? usual.find((path) => existsSync(path))

const args = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync"
]

/** Starts the browser, with a profile of its own that is deleted with it. */
export const launch = (): Promise<Browser> =>
  executablePath === undefined
    ? Promise.reject(new Error("There is no Chromium on this machine"))
    : chromium.launch({ executablePath, args })

/** What a test of pages is given. */
export interface Pages {
  readonly browser: () => Browser
  /** A window with cookies and storage of its own, until the test ends. */
  readonly context: (options?: Parameters<Browser["newContext"]>[0]) => Promise<BrowserContext>
  /** A page, until the test ends. Without options it is one more tab of the same window. */
  readonly page: (url: string, options?: Parameters<Browser["newContext"]>[0]) => Promise<Page>
}

/** Tests that need a browser. Each test fails if a page of it had an error, or ran what its policy forbids. */
export const describeInBrowser = (name: string, tests: (pages: Pages) => void): void => {
  const isMissing = executablePath === undefined
  if (isMissing) process.stdout.write(`not tested, as there is no Chromium (TEST_CHROMIUM): ${name}\n`)
  // A browser beside all other tests of a machine is late at times: a test is repeated before it has failed.
  describe.skipIf(isMissing)(`${name}${isMissing ? " (no Chromium)" : ""}`, { retry: 2 }, () => {
    let browser: Browser
    let shared: Promise<BrowserContext> | undefined
    let contexts: Array<BrowserContext> = []
    let pages: Array<Page> = []
    let errors: Array<string> = []
    beforeAll(async () => {
      browser = await launch()
    })
    afterAll(() => browser.close())
    afterEach(async () => {
      const seen = errors
      errors = []
      await Promise.all(contexts.map((context) => context.close()))
      await Promise.all(pages.map((page) => page.close()))
      contexts = []
      pages = []
      if (seen.length > 0) throw new Error(`Errors of the page:\n${seen.join("\n")}`)
    })
    const opened = async (options?: Parameters<Browser["newContext"]>[0]): Promise<BrowserContext> => {
      const opened = await browser.newContext(options)
      opened.setDefaultTimeout(12_000)
      opened.on("weberror", (error) => errors.push(String(error.error())))
      opened.on("console", (message) => {
        // That a request was refused or lost is what some tests are about; the page says it to the reader.
        if (message.type() === "error" && !message.text().startsWith("Failed to load resource")) {
          errors.push(message.text())
        }
      })
      return opened
    }
    const context: Pages["context"] = async (options) => {
      const own = await opened(options)
      contexts.push(own)
      return own
    }
    tests({
      browser: () => browser,
      context,
      page: async (url, options) => {
        const page = await (await (options === undefined ? shared ??= opened() : context(options))).newPage()
        pages.push(page)
        await page.goto(url)
        return page
      }
    })
  })
}

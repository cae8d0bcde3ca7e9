/**
 * Pages for tests, in Chromium. Without a browser these tests fail if `CI` is set. Otherwise they are skipped, with a
 * sentence that names the package to install.
 */
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core"
import { afterAll, afterEach, beforeAll, describe } from "vitest"
import { findChromium } from "./chromium.ts"

const found = await findChromium()

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

let started: Browser | undefined

/** The browser of all test files of this process, which ends with the process: to start one takes seconds. */
const browserOfProcess = async (): Promise<Browser> => {
  if (typeof found === "string") throw new Error(found)
  if (started?.isConnected() !== true) started = await chromium.launch({ ...found, args })
  return started
}

/** Context of a test of pages. */
export interface Pages {
  /** A window with cookies and storage of its own, until the test ends. */
  readonly context: (options?: Parameters<Browser["newContext"]>[0]) => Promise<BrowserContext>
  /** A page, until the test ends. Without options it is one more tab of the same window. */
  readonly page: (url: string, options?: Parameters<Browser["newContext"]>[0]) => Promise<Page>
  /** Opens a server for all tests. It is closed behind the windows: no page holds it up. */
  readonly server: <A extends Closable>(open: () => Promise<A>) => () => A
  /**
   * Opens a server for one test, or one for each if it is called in `beforeEach`. It is closed behind the windows of
   * the test.
   */
  readonly ownServer: <A extends Closable>(open: () => Promise<A>) => Promise<A>
}

/** A resource that is closed behind the pages that use it. */
interface Closable {
  readonly close: () => Promise<void>
}

/** Of a machine with much else to do: starting a browser takes a second. */
const hookTimeout = 60_000

/** Tests that need a browser. Each test fails if a page of it had an error, or violated its policy. */
export const describeInBrowser = (name: string, tests: (pages: Pages) => void): void => {
  const isSkipped = typeof found === "string" && !process.env["CI"]
  if (isSkipped) process.stdout.write(`not tested: ${name}. ${found}\n`)
  describe.skipIf(isSkipped)(`${name}${isSkipped ? " (no Chromium)" : ""}`, { timeout: 60_000 }, () => {
    let browser: Browser | undefined
    let shared: Promise<BrowserContext> | undefined
    let contexts: Array<BrowserContext> = []
    let pages: Array<Page> = []
    let servers: Array<Closable> = []
    const lasting: Array<Closable> = []
    let errors: Array<string> = []
    beforeAll(async () => {
      browser = await browserOfProcess()
    }, hookTimeout)
    // A connection that a window keeps open is one that a server waits for: servers are closed last.
    afterAll(async () => {
      await (await shared)?.close()
      await Promise.all(lasting.map((server) => server.close()))
    }, hookTimeout)
    afterEach(async () => {
      const seen = errors
      errors = []
      const closing = [contexts, pages, servers] as const
      contexts = []
      pages = []
      servers = []
      for (const all of closing) await Promise.all(all.map((one) => one.close()))
      if (seen.length > 0) throw new Error(`Errors of the page:\n${seen.join("\n")}`)
    }, hookTimeout)
    const opened = async (options?: Parameters<Browser["newContext"]>[0]): Promise<BrowserContext> => {
      const opened = await browser!.newContext({ reducedMotion: "reduce", ...options })
      opened.setDefaultTimeout(25_000)
      opened.on("weberror", (error) => errors.push(String(error.error())))
      opened.on("console", (message) => {
        // Some tests are about refused or lost requests; the page reports it to the reader.
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
      context,
      page: async (url, options) => {
        const page = await (await (options === undefined ? shared ??= opened() : context(options))).newPage()
        pages.push(page)
        await page.goto(url)
        return page
      },
      server: <A extends Closable>(open: () => Promise<A>) => {
        let server: A
        beforeAll(async () => {
          server = await open()
          lasting.push(server)
        }, hookTimeout)
        return () => server
      },
      ownServer: async (open) => {
        const server = await open()
        servers.push(server)
        return server
      }
    })
  })
}

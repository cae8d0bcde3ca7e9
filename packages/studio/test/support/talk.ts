/** A person's actions in the chat, and view of it. */
import type { Locator, Page } from "playwright-core"

export const input = (page: Page): Locator => page.getByRole("textbox", { name: /^Message to/ })

export const button = (page: Page | Locator, name: string | RegExp): Locator => page.getByRole("button", { name })

/** Sends a message, without waiting for the answer. */
export const say = async (page: Page, text: string): Promise<void> => {
  await input(page).fill(text)
  await input(page).press("Enter")
}

/** Waits until no run is active. */
export const settled = (page: Page): Promise<void> => page.getByRole("button", { name: "Send", exact: true }).waitFor()

/** Sends a message as soon as the last one is answered, and waits for the answer. */
export const ask = async (page: Page, text: string): Promise<void> => {
  await settled(page)
  await say(page, text)
  await page.locator(".from-user", { hasText: text }).last().waitFor()
  await settled(page)
}

export const answers = (page: Page): Locator => page.getByRole("article", { name: "Answer" })

export const shows = (page: Page, text: string | RegExp): Promise<void> => page.getByText(text).last().waitFor()

export const question = (page: Page): Locator => page.getByRole("region", { name: /allow this/ })

/** Waits until something holds: 25 seconds at most, or as long as is given. */
export const eventually = async (holds: () => boolean | Promise<boolean>, limit = 25_000): Promise<void> => {
  for (const end = Date.now() + limit; Date.now() < end;) {
    if (await holds()) return
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  throw new Error(`This did not become true: ${String(holds)}`)
}

/** The parts of the operator's page, found like by a person. */
import type { Page } from "playwright-core"

export const rows = (page: Page) => page.getByRole("listbox", { name: "Steps of the run" }).getByRole("option")

export const row = (page: Page, name: RegExp) => rows(page).and(page.getByRole("option", { name }))

export const tab = (page: Page, name: string) => page.getByRole("tab", { name: new RegExp(`^${name}`) })

export const step = (page: Page) => page.getByRole("complementary", { name: "Step" })

/** The trip planner with its scripted model, for tests in a browser: its server, its people and its requests. */
import { ScriptedModel } from "@recourse/testing"
import type { Locator, Page } from "playwright-core"
import { beforeEach } from "vitest"
import type { Pages } from "../../../../packages/studio/test/support/browser.ts"
import { serving } from "../../../../packages/studio/test/support/serving.ts"
import { input } from "../../../../packages/studio/test/support/talk.ts"
import { layer } from "../../src/office.ts"
import { script } from "../../src/script.ts"

/** Serves a new trip planner for each test. */
export const tripPlanner = ({ context, ownServer }: Pages) => {
  let url = ""
  let requests: Array<ScriptedModel.Request> = []
  beforeEach(async () => {
    requests = []
    const model = ScriptedModel.layer((request, index) => {
      requests.push(request)
      return script(request, index)
    })
    url = (await ownServer(() => serving(layer({ file: ":memory:", port: 0, model })))).url
  })
  return {
    url: () => url,
    requests: () => requests,
    /** Signs a traveller in, and opens the chat. */
    as: async (name: "ada" | "ben"): Promise<Page> => {
      const page = await (await context()).newPage()
      await page.goto(`${url}/sign-in/${name}`)
      await input(page).waitFor()
      return page
    }
  }
}

/** The last call of a tool, by its shown name. */
export const call = (page: Page, name: string): Locator => page.getByRole("group").filter({ hasText: name }).last()

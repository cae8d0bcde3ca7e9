import { assert, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { AgentEvent } from "@recourse/core"

describe("docs/streaming.md", () => {
  it("lists each event of the union, in its order, and no other", () => {
    const page = readFileSync(new URL("../../../../docs/streaming.md", import.meta.url), "utf8")
    const section = page.slice(page.indexOf("## All events"), page.indexOf("## What a user may see"))
    const listed = [...section.matchAll(/^\| `(\w+)` +\|/gm)].map(([, tag]) => tag)
    assert.deepStrictEqual(listed, AgentEvent.AgentEvent.members.map(({ fields }) => fields._tag.schema.literal))
  })
})

/** Failures of a write by the table of the guide: each is the outcome that the guide names. */
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect } from "effect"
import { Tool, ToolCall } from "@recourse/core"
import { McpError } from "@recourse/mcp"
import { readFileSync } from "node:fs"

const guide = readFileSync(new URL("../../../../docs/mcp.md", import.meta.url), "utf8")

/** Rows of the guide: `McpRequestNotSent` and "not done". */
const rows = [...guide.matchAll(/^\| `(Mcp\w+)` +\|.*\| (may be done|not done) +\|$/gm)].map(([, name, write]) => ({
  name: name!,
  write: write!
}))

/** Fields of all errors; each class takes its own. */
const fields = {
  server: "bank",
  tool: "pay",
  content: [],
  description: "",
  code: -32603,
  status: 401,
  retryAfter: Duration.seconds(1)
}

const errorOf = (name: string): McpError.McpError => {
  const make = McpError.McpError.members.find(({ identifier }) => identifier === name)!
  return new (make as unknown as new(from: typeof fields) => McpError.McpError)(fields)
}

describe("a write of an MCP server", () => {
  it("has a row in the guide for each error", () => {
    const tags = McpError.McpError.members.map((member) => member.identifier)
    assert.sameMembers(rows.map(({ name }) => name), tags)
  })

  it.effect.each(rows)("that fails with $name: $write", ({ name, write }) =>
    Effect.gen(function*() {
      const pay = Tool.make("pay", {
        effects: "write",
        failure: McpError.McpError,
        execute: () => Effect.fail(errorOf(name))
      })
      const error = yield* Effect.flip(
        pay.call.pipe(Effect.provideService(ToolCall.ToolCall, ToolCall.make({ id: "c1", arguments: {} })))
      )
      assert.strictEqual(error._tag, write === "not done" ? "ExecutionError" : "OutcomeUnknown")
    }))
})

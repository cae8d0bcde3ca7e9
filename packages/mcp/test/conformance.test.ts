import { assert, describe, it } from "vitest"
import { againstClient, againstServer } from "./conformance/suite.ts"

/** Some of the scenarios; `pnpm conformance` runs them all. */
const server = ["tools-list", "tools-call-elicitation"]
const client = ["tools_call", "sse-retry"]

describe("the MCP conformance suite", () => {
  it("passes against Mcp.layerServer", { timeout: 120_000 }, async () => {
    for (const { failed, passed, scenario, why } of await againstServer(server)) {
      assert.strictEqual(failed, 0, `${scenario}: ${why.join()}`)
      assert.isAbove(passed, 0, scenario)
    }
  })

  it("passes against Mcp.tools", { timeout: 120_000 }, async () => {
    for (const { failed, passed, scenario, why } of await againstClient(client)) {
      assert.strictEqual(failed, 0, `${scenario}: ${why.join()}`)
      assert.isAbove(passed, 0, scenario)
    }
  })
})

import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { McpServer, McpTest } from "effect/ai"
import { AiToolkit, Recovery, Tool } from "@recourse/core"
import { Mcp } from "@recourse/mcp"

describe("McpServer.toolkit, effect's own registration", () => {
  it.effect("serves a toolkit with recovery; calls that need an approval are denied", () =>
    Effect.gen(function*() {
      const done: Array<string> = []
      const say = (what: string) => Effect.sync(() => void done.push(what))
      const Double = Tool.make("double", {
        parameters: Schema.Struct({ n: Schema.Number }),
        success: Schema.Struct({ twice: Schema.Number }),
        execute: ({ n }) => Effect.as(say("double"), { twice: n * 2 })
      })
      const Refund = Tool.make("refund", { effects: "write", needsApproval: true, execute: () => say("refund") })
      const kit = AiToolkit.toToolkit([Double, Refund], { defaults: { onError: Recovery.standard } })
      // Its type asks for handlers as services, which this toolkit has within it.
      const client = yield* McpTest.makeClient(McpServer.toolkit(kit as never), {
        protocols: Mcp.protocols
      })
      const { structuredContent } = yield* client.callTool({ name: "double", arguments: { n: 21 } })
      assert.deepStrictEqual(structuredContent, { twice: 42 })
      const wrong = yield* client.callTool({ name: "double", arguments: { n: "21" } })
      assert.isTrue(wrong.isError)
      assert.include(JSON.stringify(wrong.content), "invalid_arguments")
      const refused = yield* client.callTool({ name: "refund", arguments: {} })
      assert.isTrue(refused.isError)
      assert.include(JSON.stringify(refused.content), "permission_denied")
      assert.deepStrictEqual(done, ["double"])
    }).pipe(Effect.scoped))
})

/** Parameters of served tools: each form that a tool may have is listed as an object, and called by its name. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { McpProtocol, McpTest } from "effect/ai"
import { Recovery, Tool } from "@recourse/core"
import { Mcp } from "@recourse/mcp"

class Address extends Schema.Class<Address>("Address")({ city: Schema.String }) {}

const forms: Readonly<Record<string, readonly [parameters: Schema.Top, args: Record<string, string>]>> = {
  "no fields": [Schema.Struct({}), {}],
  "a class": [Address, { city: "Ulm" }],
  "a union": [Schema.Union([Address, Schema.Struct({ zip: Schema.String })]), { zip: "89073" }]
}

describe("a served tool", () => {
  for (const [form, [parameters, args]] of Object.entries(forms)) {
    it.effect(`with ${form} as its parameters is listed and called`, () =>
      Effect.gen(function*() {
        const Find = Tool.make("find", {
          parameters: parameters as Schema.Struct<{}>,
          success: Schema.String,
          effects: "read",
          execute: (given) => Effect.succeed(JSON.stringify(given))
        })
        const client = yield* McpTest.makeClient(
          Mcp.layerServer({ tools: [Find], defaults: { onError: Recovery.standard } }),
          { protocols: [McpProtocol.v2025_11_25] }
        )
        const { tools } = yield* client.listTools({})
        assert.strictEqual(tools[0]?.inputSchema["type"], "object")
        const { content } = yield* client.callTool({ name: "find", arguments: args })
        assert.deepStrictEqual(content.map((block) => block.type === "text" && block.text), [JSON.stringify(args)])
      }).pipe(Effect.scoped))
  }
})

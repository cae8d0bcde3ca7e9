/** What `Mcp.layerServer` needs, and what must not compile. */
import { Agent, Policy, Recovery, Tool } from "@recourse/core"
import { Mcp } from "@recourse/mcp"
import { Context, Effect, type Layer, Schema } from "effect"
import type { LanguageModel, McpServer } from "effect/ai"
import { type Equals, holds } from "../../core/typetest/assert.ts"

class Shop extends Context.Service<Shop, { readonly pay: Effect.Effect<string> }>()("Shop") {}
class Rules extends Context.Service<Rules, { readonly allowed: boolean }>()("Rules") {}

type Needs<L> = L extends Layer.Layer<infer _A, infer _E, infer R> ? R : never

const Pay = Tool.make("pay", {
  success: Schema.String,
  effects: "write",
  needsApproval: true,
  execute: () => Effect.flatMap(Shop, ({ pay }) => pay)
})

// A key for waiting calls is made where there is none.
const served = Mcp.layerServer({
  tools: [Pay],
  defaults: { onError: Recovery.standard },
  budget: { duration: "10 seconds" }
})
holds<Equals<Needs<typeof served>, McpServer.McpServer | Shop>>()

const desk = Agent.make("desk", { input: Schema.Struct({}), tools: [Pay] }).pipe(
  Agent.asTool("desk", { description: "Asks", parameters: Schema.Struct({}), success: Schema.String })
)
const agents = Mcp.layerServer({ tools: [desk] })
holds<Equals<Needs<typeof agents>, McpServer.McpServer | LanguageModel.LanguageModel | Shop>>()

const ruled = Mcp.layerServer({
  tools: [Pay],
  policies: [Policy.make("rules", () => Effect.map(Rules, ({ allowed }) => allowed ? Policy.allow : Policy.deny("no")))]
})
holds<Equals<Needs<typeof ruled>, McpServer.McpServer | Shop | Rules>>()

// @ts-expect-error a server has tools
Mcp.layerServer({})
// @ts-expect-error there is no such option
Mcp.layerServer({ tools: [Pay], budgets: { turns: 1 } })

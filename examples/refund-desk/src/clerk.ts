/** The agent: it finds orders, and refunds them when another person has approved. */
import { Effect, Schema } from "effect"
import { Prompt } from "effect/ai"
import { Agent, Recovery, Tool } from "@recourse/core"
import { ScriptedModel } from "@recourse/testing"

const FindOrder = Tool.make("find_order", {
  description: "Finds an order by its number",
  parameters: Schema.Struct({ order: Schema.Int }),
  success: Schema.Struct({ order: Schema.Int, euros: Schema.Int }),
  effects: "read",
  execute: ({ order }) => Effect.succeed({ order, euros: 40 })
})

/** The refund tool. `pay` is the bank of your program: it is called once for each approved call. */
const refund = (pay: (order: number, euros: number) => Effect.Effect<void>) =>
  Tool.make("refund", {
    description: "Refunds an order",
    parameters: Schema.Struct({ order: Schema.Int, euros: Schema.Int }),
    success: Schema.String,
    effects: "write",
    idempotency: true,
    needsApproval: true,
    execute: ({ euros, order }) => Effect.as(pay(order, euros), "refunded")
  })

export const clerk = (pay: (order: number, euros: number) => Effect.Effect<void>) =>
  Agent.make("clerk", {
    instructions: "You help the customers of a shop with their orders.",
    input: Prompt.Prompt,
    prompt: (conversation) => conversation,
    tools: [FindOrder, refund(pay)],
    defaults: { onError: Recovery.chatSafe }
  })

/** A model without a key: it looks the order up, refunds it, and answers. */
export const script = ScriptedModel.layer(ScriptedModel.steps([
  ScriptedModel.call("find_order", { order: 7 }, { id: "call_1" }),
  ScriptedModel.call("refund", { order: 7, euros: 40 }, { id: "call_2" }),
  ScriptedModel.text("Order 7 is refunded.")
]))

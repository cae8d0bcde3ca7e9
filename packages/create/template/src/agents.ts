/** The agent, its tool, and what happens if the tool fails. */
import { Agent, Recovery, Tool } from "@recourse/core"
import { Schedule, Schema } from "effect"
import { Prompt } from "effect/ai"
import { findOrder, OrderNotFound, OrdersDown } from "./orders.ts"

export const FindOrder = Tool.make("find_order", {
  description: "Finds an order by its number",
  parameters: Schema.Struct({ order: Schema.Int }),
  success: Schema.String,
  failure: Schema.Union([OrderNotFound, OrdersDown]),
  effects: "read",
  timeout: "2 seconds",
  execute: ({ order }) => findOrder(order)
}).pipe(
  Tool.onError((call) =>
    call.pipe(
      // First two more attempts, if another attempt can help. Then the model reads the error, and the run continues.
      Recovery.retry({ times: 2, schedule: Schedule.exponential("100 millis") }),
      Recovery.escalate("ExecutionError", "InvalidArgs", "Timeout")
    )
  )
)

export const support = Agent.make("support", {
  instructions: "You help the customers of a shop with their orders.",
  input: Prompt.Prompt,
  prompt: (conversation) => conversation,
  tools: [FindOrder],
  budget: { turns: 8, duration: "1 minute" }
})

/** Two tools that log their executions: one for everyone, one that a person has to approve above 100. */
import { Effect, Schema } from "effect"
import { Tool } from "@recourse/core"

export const Note = (log: Array<string>) =>
  Tool.make("note", {
    parameters: Schema.Struct({ text: Schema.String }),
    success: Schema.String,
    effects: "write",
    execute: ({ text }) => Effect.sync(() => (log.push(`note ${text}`), "noted"))
  })

export const Refund = (log: Array<string>) =>
  Tool.make("refund", {
    parameters: Schema.Struct({ order: Schema.String, amount: Schema.Number }),
    success: Schema.Struct({ refunded: Schema.Number }),
    effects: "write",
    needsApproval: ({ amount }) => amount > 100,
    execute: ({ amount, order }) => Effect.sync(() => (log.push(`refund ${order} ${amount}`), { refunded: amount }))
  })

/** A page that pays with client tools, over each protocol. */

import { Tool } from "@recourse/core"
import { Effect, Schema } from "effect"
import type { Prompt } from "effect/ai"

export const paid: Array<number> = []

export const Pay = Tool.make("pay", {
  parameters: Schema.Struct({ amount: Schema.Number }),
  success: Schema.String,
  effects: "write",
  execute: ({ amount }) => Effect.sync(() => (paid.push(amount), "paid"))
})

/** The results that the model read last. */
export const resultsOf = (prompt: Prompt.Prompt) =>
  prompt.content.flatMap((message) =>
    message.role === "tool" ? message.content.flatMap((part) => part.type === "tool-result" ? [part.result] : []) : []
  ) as ReadonlyArray<Record<string, unknown>>

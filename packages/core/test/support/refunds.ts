/** Refunds that a person approves. */

import { ScriptedModel } from "@recourse/testing"
import { Effect, Schema } from "effect"
import { Agent, Recovery, Tool } from "@recourse/core"
import { lastResults } from "./kit.ts"

/** Refunds with a record of completed calls. */
export const refunds = () => {
  const done: Array<number> = []
  const Refund = Tool.make("refund", {
    parameters: Schema.Struct({ euros: Schema.Number }),
    success: Schema.String,
    effects: "write",
    needsApproval: true,
    execute: ({ euros }) => Effect.sync(() => (done.push(euros), `paid ${euros}`))
  })
  return { done, Refund, clerk: Agent.make("clerk", { tools: [Refund], defaults: { onError: Recovery.standard } }) }
}

export const told = Effect.gen(function*() {
  const { lastRequest } = yield* ScriptedModel.ScriptedModel
  return lastResults((yield* lastRequest).prompt).map(({ result }) => result)
})

/** A small shop that the tests of this package break in every way. */
import { ScriptedModel, SideEffects, Subject } from "@recourse/testing"
import { Data, Effect, Schedule, Schema } from "effect"
import { Agent, ModelError, Recovery, Tool, ToolCall } from "@recourse/core"

export class OutOfStock extends Data.TaggedError("OutOfStock")<{ readonly sku: string }> {}

export const Search = Tool.make("search", {
  parameters: Schema.Struct({ text: Schema.String }),
  success: Schema.Struct({ page: Schema.String, hits: Schema.Array(Schema.String) }),
  effects: "read",
  timeout: "2 seconds",
  execute: ({ text }) => Effect.succeed({ page: `Results for ${text}`, hits: ["a", "b", "c"] })
})

export const Order = Tool.make("order", {
  parameters: Schema.Struct({ sku: Schema.String }),
  success: Schema.String,
  effects: "write",
  timeout: "5 seconds",
  execute: ({ sku }): Effect.Effect<string, OutOfStock, SideEffects.SideEffects | ToolCall.ToolCall> =>
    Effect.gen(function*() {
      const world = yield* SideEffects.SideEffects
      const call = yield* ToolCall.ToolCall
      yield* world.perform({ tool: "order", details: call.id })
      return `ordered ${sku}`
    })
})

export const budget = {
  turns: 8,
  toolCalls: 10,
  retriesPerTool: 3,
  allFailureRounds: 3,
  duration: "60 seconds"
} as const

export const tools = [Search, Order] as const

export const agent = Agent.make("shop", {
  tools,
  defaults: {
    onError: Recovery.policy({
      InvalidArgs: "escalate",
      ExecutionError: { retry: { times: 2, schedule: Schedule.spaced("1 second") }, otherwise: "escalate" },
      Timeout: { retry: { times: 2, schedule: Schedule.forever }, otherwise: "escalate" },
      OutcomeUnknown: "escalate",
      PartialSuccess: "escalate",
      InvalidResult: "escalate"
    })
  },
  onModelError: (error) =>
    error.isRetryable ? ModelError.retry({ times: 2, schedule: Schedule.forever }) : ModelError.rethrow,
  budget
})

export const subject = Subject.make({
  agent,
  tools,
  budget,
  scenarios: {
    default: {
      input: "Order a teapot",
      model: [
        ScriptedModel.call("search", { text: "teapot" }),
        ScriptedModel.call("order", { sku: "a" }),
        ScriptedModel.text("It is on its way.")
      ]
    },
    both: {
      input: "Order two teapots",
      model: [
        ScriptedModel.calls([
          { name: "search", params: { text: "teapot" } },
          { name: "order", params: { sku: "a" } },
          { name: "order", params: { sku: "b" } }
        ]),
        ScriptedModel.text("Both are on their way.")
      ]
    }
  }
})

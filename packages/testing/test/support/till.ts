/** An agent whose runs pause: for large refunds, for a fixer's too, and because a policy says so. */
import { ScriptedModel, SideEffects, Subject } from "@recourse/testing"
import { Effect, Redacted, Schedule, Schema } from "effect"
import { Agent, Approval, Policy, Recovery, Tool } from "@recourse/core"
import { Pay } from "./office.ts"

export const Look = Tool.make("look", {
  parameters: Schema.Struct({ order: Schema.String }),
  success: Schema.Struct({ order: Schema.String, paid: Schema.Int }),
  effects: "read",
  timeout: "2 seconds",
  execute: ({ order }) => Effect.as(Effect.sleep("200 millis"), { order, paid: 500 })
}).pipe(Tool.onError(Recovery.retry({ times: 2, schedule: Schedule.spaced("1 second") })))

export const Refund = Tool.make("refund", {
  parameters: Schema.Struct({ order: Schema.String, amount: Schema.Int }),
  success: Schema.Struct({ refunded: Schema.Int }),
  effects: "write",
  needsApproval: ({ amount }) => amount > 100,
  timeout: "5 seconds",
  execute: ({ amount, order }) =>
    Effect.gen(function*() {
      const world = yield* SideEffects.SideEffects
      yield* world.perform({ tool: "refund", details: { amount, order } })
      return { refunded: amount }
    })
}).pipe(
  Tool.onError(
    Recovery.fix("InvalidArgs", Agent.fromFunction("clerk", () => Effect.succeed("{\"order\":\"A\",\"amount\":300}")))
  )
)

const budget = { turns: 6, toolCalls: 9, retriesPerTool: 3, fixes: 3, duration: "60 seconds" } as const

const tools = [Look, Refund, Pay] as const

export const key = Approval.layerKey(Redacted.make("a key for tests of thirty-two bytes or more"))

const till = {
  tools,
  policies: [
    Policy.make("payments", () => Policy.requireApproval("it is a payment"), { mayRequestApproval: true }).pipe(
      Policy.forTools("pay")
    )
  ],
  approval: { timeToLive: "1 hour" },
  defaults: { onError: Recovery.standard }
} as const

export const subject = Subject.make({
  agent: Agent.make("till", { ...till, budget }),
  scenarios: {
    default: {
      input: "Refund A",
      model: [ScriptedModel.call("refund", { order: "A", amount: 500 }), ScriptedModel.text("Refunded.")]
    },
    several: {
      input: "Refund A and B, and pay C",
      model: [
        ScriptedModel.call("look", { order: "A" }),
        ScriptedModel.calls([
          { name: "refund", params: { order: "A", amount: 20 } },
          { name: "refund", params: { order: "B", amount: 500 } },
          { name: "pay", params: { amount: 7 } },
          { name: "refund", params: { order: "C" } },
          { name: "look", params: { order: "B" } }
        ], { text: "I see to it." }),
        ScriptedModel.call("refund", { order: "D", amount: 200 }),
        ScriptedModel.text("Done.")
      ]
    }
  }
})

const AskTill = Agent.make("till", {
  ...till,
  instructions: "till",
  input: Schema.Struct({ order: Schema.String }),
  budget: { turns: 5 }
}).pipe(
  Agent.asTool("ask_till", {
    description: "Asks",
    parameters: Schema.Struct({ order: Schema.String }),
    success: Schema.String
  })
)

const deskTools = [AskTill, ...tools] as const

const deskBudget = { turns: 20, toolCalls: 30, retriesPerTool: 3, fixes: 3, duration: "90 seconds" } as const

/** An agent whose runs pause for a waiting agent that is its tool, and for calls of its own. */
const deskWith = (own: ScriptedModel.Behaviour, ofTill: ScriptedModel.Behaviour) =>
  Subject.make({
    agent: Agent.make("desk", { ...till, tools: deskTools, budget: deskBudget }),
    scenarios: {
      default: {
        input: "Refund A and B",
        model: (request, index) => (request.prompt.content[0]?.role === "system" ? ofTill : own)(request, index)
      }
    }
  })

/** Only its agent calls its tools, and it runs once: so their calls are separated by id and tool. */
export const desk = deskWith(
  ScriptedModel.steps([
    ScriptedModel.calls([
      { name: "ask_till", params: { order: "A" } },
      { name: "pay", params: { amount: 7 } }
    ]),
    ScriptedModel.text("Done.")
  ]),
  ScriptedModel.steps([
    ScriptedModel.calls([
      { name: "look", params: { order: "A" } },
      { name: "refund", params: { order: "A", amount: 300 } },
      { name: "refund", params: { order: "B" } }
    ]),
    ScriptedModel.call("refund", { order: "A", amount: 200 }),
    ScriptedModel.text("Refunded.")
  ])
)

/** Its agent runs several times, also at the same time, and it calls the same tools. */
export const busy = deskWith(
  ScriptedModel.steps([
    ScriptedModel.calls([
      { name: "ask_till", params: { order: "A" } },
      { name: "look", params: { order: "B" } },
      { name: "ask_till", params: { order: "B" } },
      { name: "refund", params: { order: "B", amount: 500 } }
    ]),
    ScriptedModel.call("ask_till", { order: "C" }),
    ScriptedModel.text("Done.")
  ]),
  ScriptedModel.steps([
    ScriptedModel.calls([
      { name: "look", params: { order: "A" } },
      { name: "refund", params: { order: "A", amount: 300 } },
      { name: "pay", params: { amount: 7 } }
    ]),
    ScriptedModel.call("refund", { order: "A", amount: 200 }),
    ScriptedModel.text("Refunded.")
  ])
)

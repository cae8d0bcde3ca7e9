/** Agents in agents: a fixer that is an agent, an agent as a tool, and two that race. */
import { ScriptedModel, SideEffects, Subject } from "@recourse/testing"
import { Effect, Schedule, Schema } from "effect"
import { Agent, ModelError, Recovery, Tool, ToolCall } from "@recourse/core"

const system = ({ prompt }: ScriptedModel.Request): string => {
  const first = prompt.content[0]
  return first?.role === "system" ? first.content : ""
}

const fixer = Agent.make("fixer", {
  instructions: "fixer",
  budget: { turns: 2 }
})

const Calendar = Tool.make("calendar", {
  parameters: Schema.Struct({ day: Schema.String }),
  success: Schema.Array(Schema.String),
  effects: "read",
  timeout: "4 seconds",
  execute: ({ day }) => Effect.as(Effect.sleep("300 millis"), [`${day} 9:00`, `${day} 15:00`])
}).pipe(
  Tool.onError((call) =>
    call.pipe(
      Recovery.fix("InvalidArgs", fixer, { times: 2 }),
      // Not the policy-aware retry: the budget has to hold all the same.
      Effect.retry({ times: 20, schedule: Schedule.spaced("100 millis"), while: (e) => e._tag === "Timeout" }),
      Recovery.escalate("InvalidArgs", "Timeout")
    )
  )
)

const Reserve = Tool.make("reserve", {
  parameters: Schema.Struct({ slot: Schema.String }),
  success: Schema.String,
  effects: "write",
  execute: ({ slot }) =>
    Effect.gen(function*() {
      const world = yield* SideEffects.SideEffects
      const { id } = yield* ToolCall.ToolCall
      yield* Effect.sleep("200 millis")
      yield* world.perform({ tool: "reserve", details: { slot, id } })
      return slot
    })
}).pipe(Tool.onError((call) => Effect.retry(call, { times: 3 })))

const makeClerk = (name: string) =>
  Agent.make(name, {
    instructions: "clerk",
    input: Schema.Struct({ question: Schema.String }),
    tools: [Calendar],
    budget: { turns: 4, allFailureRounds: 2, duration: "60 seconds" }
  })

const AskClerk = makeClerk("clerk").pipe(
  Agent.asTool("ask_clerk", {
    description: "Ask the clerk",
    parameters: Schema.Struct({ question: Schema.String }),
    success: Schema.String
  })
)

export const budget = { turns: 14, toolCalls: 14, retriesPerTool: 4, fixes: 4, duration: "90 seconds" } as const

export const tools = [Calendar, Reserve, AskClerk] as const

const answers = (request: ScriptedModel.Request): ScriptedModel.Turn => {
  switch (system(request)) {
    case "fixer":
      return ScriptedModel.text("{\"day\":\"Monday\"}")
    case "clerk":
      return ScriptedModel.steps([ScriptedModel.call("calendar", { day: "Tuesday" }), ScriptedModel.text("Tuesday")])(
        request,
        0
      )
    default:
      return ScriptedModel.steps([
        ScriptedModel.calls([
          { name: "calendar", params: { day: "Monday" } },
          { name: "ask_clerk", params: { question: "When?" } },
          { name: "calendar", params: { date: "Monday" } }
        ], { text: "Let me look." }),
        ScriptedModel.calls([
          { name: "reserve", params: { slot: "Monday 9:00" }, id: "r" },
          { name: "reserve", params: { slot: "Tuesday 9:00" }, id: "r" }
        ]),
        ScriptedModel.text("Reserved.")
      ])(request, 0)
  }
}

const agent = Agent.make("office", {
  instructions: "office",
  tools,
  concurrency: 2,
  defaults: {
    onError: Recovery.policy({
      InvalidArgs: "escalate",
      ExecutionError: { retry: { times: 1, schedule: Schedule.forever }, otherwise: "escalate" },
      InvalidResult: "escalate",
      PartialSuccess: "escalate"
    })
  },
  onModelError: (error, { attempt }) =>
    error.isRetryable
      ? ModelError.retry({ times: 2, schedule: Schedule.exponential("1 second").pipe(Schedule.jittered) })
      : attempt > 1
      ? ModelError.respondWith("I cannot say.")
      : ModelError.rethrow,
  budget
})

export const subject = Subject.make({
  agent,
  tools,
  budget,
  scenarios: { default: { input: "Reserve a slot", model: answers } }
})

/** Two clerks that race: whoever is slower is interrupted. */
export const race = Subject.make({
  agent: Agent.firstOf("race", [makeClerk("left"), makeClerk("right")]),
  tools: [Calendar],
  scenarios: { default: { input: { question: "When?" }, model: answers } }
})

/** A write that hands its key on. */
export const Pay = Tool.make("pay", {
  parameters: Schema.Struct({ amount: Schema.Int }),
  success: Schema.String,
  effects: "write",
  timeout: "2 seconds",
  idempotency: true,
  execute: ({ amount }) =>
    Effect.gen(function*() {
      const { idempotencyKey } = yield* ToolCall.ToolCall
      const world = yield* SideEffects.SideEffects
      yield* world.perform({ tool: "pay", key: idempotencyKey, details: amount })
      return "paid"
    })
}).pipe(Tool.onError(Recovery.retry({ times: 2, schedule: Schedule.forever })))

/** A write that may be repeated, because it passes a key on. */
export const bank = Subject.make({
  agent: Agent.make("bank", {
    tools: [Pay],
    defaults: { onError: Recovery.standard },
    budget: { turns: 6, toolCalls: 6, duration: "60 seconds" }
  }),
  tools: [Pay],
  budget: { turns: 6, toolCalls: 6, duration: "60 seconds" },
  scenarios: {
    default: {
      input: "Pay twice",
      model: [
        ScriptedModel.calls([{ name: "pay", params: { amount: 5 } }, { name: "pay", params: { amount: 7 } }]),
        ScriptedModel.text("Paid.")
      ]
    }
  }
})

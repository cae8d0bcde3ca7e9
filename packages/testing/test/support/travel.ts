/** An agent whose runs call each callback of a program: it compensates, reconciles, and has decisions to audit. */
import { Agent, Policy, Reconciliation, Recovery, Tool, ToolCall } from "@recourse/core"
import { ScriptedModel, SideEffects, Subject } from "@recourse/testing"
import { Effect, Predicate, Schema } from "effect"

const Seat = Schema.Struct({ seat: Schema.String })

const perform = (tool: string, details: unknown) =>
  Effect.gen(function*() {
    const world = yield* SideEffects.SideEffects
    const key = (yield* ToolCall.ToolCall).idempotencyKey
    yield* world.perform({ tool, details, ...(key === undefined ? undefined : { key }) })
  })

/** A write with a key, whose service can report its effects. */
export const Book = Tool.make("book", {
  parameters: Seat,
  success: Schema.String,
  effects: "write",
  timeout: "5 seconds",
  idempotency: {
    reconcile: () =>
      Effect.map(
        Effect.flatMap(SideEffects.SideEffects, ({ all }) => all),
        (effects) =>
          effects.some(({ tool, compensates }) => tool === "book" && compensates === undefined)
            ? Reconciliation.completed("booked")
            : Reconciliation.notStarted
      )
  },
  execute: ({ seat }) => Effect.as(perform("book", { book: seat }), "booked"),
  compensate: ({ seat }) => perform("book", { cancel: seat })
})

/** A write without a key. */
export const Charge = Tool.make("charge", {
  parameters: Schema.Struct({ euros: Schema.Int }),
  success: Schema.String,
  effects: "write",
  timeout: "5 seconds",
  execute: ({ euros }) => Effect.as(perform("charge", { charge: euros }), "charged"),
  compensate: ({ euros }) => perform("charge", { refund: euros })
})

const budget = { turns: 6, toolCalls: 8, retriesPerTool: 2, duration: "60 seconds" } as const

/** Charges of more than 100 euros are denied, so that the audit has a record. */
const cheap = Policy.make(
  "cheap",
  ({ arguments: args }) =>
    Predicate.hasProperty(args, "euros") && Number(args.euros) > 100 ? Policy.deny("too dear") : Policy.allow
)

export const agent = Agent.make("travel", {
  tools: [Book, Charge],
  policies: [cheap],
  compensation: {},
  budget,
  defaults: { onError: Recovery.standard }
})

const steps = ScriptedModel.steps([
  ScriptedModel.call("book", { seat: "7" }),
  ScriptedModel.calls([
    { name: "charge", params: { euros: 20 } },
    { name: "charge", params: { euros: 200 } }
  ]),
  ScriptedModel.text("Booked.")
])

const desk = ScriptedModel.steps([
  ScriptedModel.call("ask_travel", { input: "Book seat 7" }),
  ScriptedModel.text("Booked.")
])

export const subject = Subject.make({
  agent,
  tools: [Book, Charge],
  budget,
  scenarios: { default: { input: "Book seat 7", model: steps } }
})

/** A person is asked about each call, so that runs pause between their writes. */
export const asking = Subject.make({
  agent: Agent.make("asking", {
    tools: [Book, Charge],
    policies: [Policy.make("ask", () => Policy.requireApproval("it costs money"), { mayRequestApproval: true })],
    compensation: { after: ["failure", "interruption"] },
    budget,
    defaults: { onError: Recovery.standard }
  }),
  tools: [Book, Charge],
  budget,
  scenarios: { default: { input: "Book seat 7", model: steps } }
})

/** The agent is a tool of another one, which compensates, too. */
export const nested = Subject.make({
  agent: Agent.make("desk", {
    instructions: "desk",
    tools: [agent.pipe(Agent.asTool("ask_travel", { description: "Books" }))],
    compensation: {},
    budget: { turns: 9, duration: "90 seconds" },
    defaults: { onError: Recovery.standard }
  }),
  tools: [Book, Charge],
  budget: { duration: "90 seconds" },
  scenarios: {
    default: {
      input: "Book seat 7",
      model: (request, index) => (request.prompt.content[0]?.role === "system" ? desk : steps)(request, index)
    }
  }
})

/** The agents with rows in `rows/beforeHosts.json`, and their external effects. */
import { Agent, Recovery, Tool } from "@recourse/core"
import { Durable, Signal } from "@recourse/durable"
import { ScriptedModel } from "@recourse/testing"
import { Effect, Schema } from "effect"

/** Executed and compensated bookings, and payments. */
export interface Outside {
  readonly booked: Array<string>
  readonly undone: Array<string>
  paid: number
}

/** An agent that books, waits for a parcel if configured, and pays with an approval. */
export const hostedAgent = (outside: Outside) => {
  const Book = Tool.make("book", {
    parameters: Schema.Struct({ seat: Schema.String }),
    success: Schema.String,
    effects: "write",
    execute: ({ seat }) => Effect.sync(() => (outside.booked.push(seat), seat)),
    compensate: (_arguments, seat) => Effect.sync(() => void outside.undone.push(seat))
  })
  const Parcel = Tool.make("parcel", {
    success: Schema.String,
    effects: "read",
    execute: () => Effect.orDie(Signal.receive("parcel", Schema.String, { poll: "20 millis" }))
  })
  const Pay = Tool.make("pay", {
    success: Schema.String,
    effects: "write",
    needsApproval: true,
    execute: () => Effect.sync(() => (outside.paid++, "paid"))
  })
  return Durable.make(
    Agent.make("desk", {
      tools: [Book, Parcel, Pay],
      compensation: {},
      approval: { timeToLive: "36500 days" },
      defaults: { onError: Recovery.keepGoing }
    }),
    { queue: { concurrency: 9 }, approvals: { people: [{ to: "ada" }, { to: "eve", after: "1 hour" }] } }
  )
}

/** Turns of the model: by the run's input. */
export const hostedModel = ScriptedModel.layer(({ prompt }) => {
  const asked = JSON.stringify(prompt.content.find(({ role }) => role === "user")?.content)
  const turn = prompt.content.filter(({ role }) => role === "assistant").length
  const turns = [
    ScriptedModel.call("book", { seat: "1A" }, { id: "c1" }),
    asked.includes("parcel")
      ? ScriptedModel.call("parcel", {}, { id: "c2" })
      : ScriptedModel.call("pay", {}, { id: "c2" }),
    ScriptedModel.text("done")
  ]
  return turns[turn] ?? ScriptedModel.text("?")
})

/** Durable agents: one pauses for an approval, one sleeps for a minute, one waits for a signal, and one has a queue. */
import { Agent, Recovery, Tool } from "@recourse/core"
import { Durable, Signal } from "@recourse/durable"
import { ScriptedModel } from "@recourse/testing"
import { Effect, Schema } from "effect"

const Pay = Tool.make("pay", {
  success: Schema.String,
  effects: "write",
  needsApproval: true,
  execute: () => Effect.succeed("paid")
})
const Sleep = Tool.make("sleep", {
  success: Schema.String,
  effects: "read",
  execute: () => Effect.as(Effect.sleep("1 minute"), "slept")
})
const Parcel = Tool.make("parcel", {
  success: Schema.String,
  effects: "read",
  execute: () => Effect.orDie(Signal.receive("parcel", Schema.String, { poll: "1 minute" }))
})
const Look = Tool.make("look", {
  success: Schema.String,
  effects: "read",
  execute: () => Effect.as(Effect.sleep("30 millis"), "free")
})
const defaults = { onError: Recovery.keepGoing }
export const Payer = Durable.make(Agent.make("payer", { tools: [Pay], defaults }))
export const Receiver = Durable.make(Agent.make("receiver", { tools: [Parcel], defaults }))
export const Limited = Durable.make(Agent.make("limited", { tools: [Look], defaults }), { queue: { concurrency: 1 } })
export const Sleeper = Durable.make(Agent.make("sleeper", { tools: [Sleep], defaults }))

/** Calls the first tool once, and then answers. */
export const model = ScriptedModel.layer(({ prompt, tools }) =>
  prompt.content.at(-1)?.role === "tool" ? ScriptedModel.text("done") : ScriptedModel.call(tools[0]!, {})
)

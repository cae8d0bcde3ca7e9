/** Two durable agents: one pauses for an approval, and one sleeps for a minute. */
import { Agent, Recovery, Tool } from "@recourse/core"
import { Durable } from "@recourse/durable"
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
const defaults = { onError: Recovery.keepGoing }
export const Payer = Durable.make(Agent.make("payer", { tools: [Pay], defaults }))
export const Sleeper = Durable.make(Agent.make("sleeper", { tools: [Sleep], defaults }))

/** Calls the first tool once, and then answers. */
export const model = ScriptedModel.layer(({ prompt, tools }) =>
  prompt.content.at(-1)?.role === "tool" ? ScriptedModel.text("done") : ScriptedModel.call(tools[0]!, {})
)

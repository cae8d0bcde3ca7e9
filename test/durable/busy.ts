/** A process that runs agents which are in the middle of something for a minute each: `node busy.ts <address>`. */
import { NodeRuntime } from "@effect/platform-node"
import { Agent, ErrorProjection, Recovery, Tool } from "@recourse/core"
import { Durable, RunStore, Signal } from "@recourse/durable"
import { ScriptedModel } from "@recourse/testing"
import { Effect, Layer, Schedule, Schema } from "effect"
import { type SqlAddress, sqlLayer } from "../support/connections.ts"

class Busy extends Schema.TaggedError<Busy>()(
  "Busy",
  {},
  ErrorProjection.declare<object>({ code: "rate_limited", retryAfter: () => "1 minute", outcome: "not_done" })
) {}

const success = Schema.String
const long = Effect.as(Effect.sleep("1 minute"), "done")
const Look = Tool.make("look", { success, effects: "read", execute: () => long })
const Write = Tool.make("write", { success, effects: "write", execute: () => long })
const Wait = Tool.make("wait", {
  success,
  failure: Busy,
  effects: "read",
  execute: () => Effect.fail(new Busy())
}).pipe(Tool.onError(Recovery.retry({ times: 2, schedule: Schedule.spaced("1 second"), maxRetryAfter: "2 minutes" })))
const Hear = Tool.make("hear", { success, effects: "read", execute: () => Signal.receive("never", success) })
const Ask = Tool.make("ask", { success, effects: "write", needsApproval: true, execute: () => long })
const Leaf = Durable.make(Agent.fromFunction("leaf", (_: string) => long))
const Child = Tool.make("child", {
  success,
  effects: "idempotent",
  execute: () => Effect.flatMap(Durable.childId(), (id) => Leaf.run(id, "go"))
})

const onError = Recovery.keepGoing
export const Agents = {
  /** In a call of its model. */
  model: Durable.make(Agent.make("model", { defaults: { onError } })),
  look: Durable.make(Agent.make("look", { tools: [Look], defaults: { onError } })),
  write: Durable.make(Agent.make("write", { tools: [Write], defaults: { onError } })),
  wait: Durable.make(Agent.make("wait", { tools: [Wait], defaults: { onError } })),
  hear: Durable.make(Agent.make("hear", { tools: [Hear], defaults: { onError } })),
  ask: Durable.make(Agent.make("ask", { tools: [Ask], defaults: { onError } })),
  child: Durable.make(Agent.make("child", { tools: [Child], defaults: { onError } }))
}
const { ask, child, hear, look, model, wait, write } = Agents
export const all = [model, look, write, wait, hear, ask, child, Leaf] as const

const Model = ScriptedModel.layer(({ tools }) =>
  tools[0] === undefined
    ? ScriptedModel.delay("1 minute", ScriptedModel.text("done"))
    : ScriptedModel.call(tools[0], {}, { id: "c1" })
)

export const stores = (address: SqlAddress) => RunStore.layerSql().pipe(Layer.provide(sqlLayer(address)))

if (import.meta.main) {
  const [address] = process.argv.slice(2) as [string]
  NodeRuntime.runMain(
    Layer.launch(
      Durable.layer(all).pipe(Layer.provide(Model), Layer.provide(stores(JSON.parse(address) as SqlAddress)))
    )
  )
}

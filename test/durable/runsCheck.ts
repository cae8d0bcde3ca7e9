/** Agents of a deployment, for `recourse-runs check`: run itself, it starts runs that wait. `CHANGED` names the tools that differ. */
import { NodeServices } from "@effect/platform-node"
import { Agent, Recovery, Tool } from "@recourse/core"
import { Durable, RunCheck, RunStore } from "@recourse/durable"
import { Mcp } from "@recourse/mcp"
import { NodeSqliteClient } from "@recourse/sql"
import { ScriptedModel } from "@recourse/testing"
import { Effect, Layer, Schema } from "effect"
import { ChildProcess } from "effect/process"
import { join } from "node:path"

const changed = new Set((process.env["CHANGED"] ?? "").split(","))
const filename = process.env["RUNS_DB"] ?? ""
const byHand = join(import.meta.dirname, "../../packages/mcp/test/servers/byHand.mjs")

const tool = (name: string, needsApproval = false) =>
  Tool.make(name, {
    description: changed.has(name) ? `Does ${name} otherwise` : `Does ${name}`,
    parameters: Schema.Struct({ amount: Schema.Int }),
    success: Schema.String,
    effects: "write",
    needsApproval,
    execute: () => Effect.succeed(name)
  })

const defaults = { onError: Recovery.standard }

const clerk = Agent.make("clerk", { tools: [tool("pay", true), tool("look")], defaults })
const desk = Agent.make("desk", {
  tools: [
    Agent.make("helper", { tools: [tool("refund", true), tool("peek")], defaults }).pipe(
      Agent.asTool("ask_helper", { description: "Asks the helper" })
    ),
    tool("write")
  ],
  defaults
})

/** A server whose tools have the descriptions of this deployment. */
const server = JSON.stringify({
  version: "2025-06-18",
  tools: ["pay", "read"].map((name) => ({
    name,
    description: changed.has(`mcp ${name}`) ? "Otherwise" : "As before",
    inputSchema: { type: "object", properties: {} }
  }))
})

const agents = Effect.gen(function*() {
  const tools = yield* Mcp.tools({
    name: "s",
    connect: Mcp.stdio(ChildProcess.make(process.execPath, [byHand, server])),
    trust: "trusted",
    options: ({ name }) => ({ needsApproval: name === "pay" })
  })
  const mcp = Agent.make("mcp", { tools, defaults })
  return [Durable.make(clerk), Durable.make(desk), Durable.make(mcp)]
}).pipe(Effect.provide(NodeServices.layer))

const store = RunStore.layerSql().pipe(Layer.provide(NodeSqliteClient.layer({ filename })))

export const runs = RunCheck.make({ agents: agents as never, layer: store })

const { call } = ScriptedModel

const model = ScriptedModel.layer(({ tools }) =>
  tools.includes("ask_helper")
    ? call("ask_helper", { input: "refund" })
    : tools.includes("refund")
    ? call("refund", { amount: 1 })
    : tools.includes("s_pay")
    ? call("s_pay", {})
    : call("pay", { amount: 1 })
)

if (process.argv.includes("start")) {
  await Effect.runPromise(Effect.scoped(Effect.gen(function*() {
    const all = yield* agents
    yield* Effect.gen(function*() {
      for (const agent of all) {
        for (let n = 1; n <= 2; n++) {
          const runId = `${agent.name} ${n}`
          yield* agent.start(runId, "go")
          yield* agent.poll(runId).pipe(
            Effect.repeat({ until: ({ status }) => status === "waiting" }),
            Effect.timeout("20 seconds")
          )
        }
      }
    }).pipe(Effect.provide(Durable.layer(all).pipe(Layer.provide([store, model]))))
  }) as Effect.Effect<void, unknown>))
}

import { Agent, Recovery, Tool } from "@recourse/core"
import { Durable, RunStore } from "@recourse/durable"
import { NodeSqliteClient } from "@recourse/sql"
import { ScriptedModel } from "@recourse/testing"
import { Effect, Layer, ManagedRuntime, Schema } from "effect"
import { answer } from "./engine.ts"
const [mode, file, count = "400"] = process.argv.slice(2)
const Look = Tool.make("look", { parameters: Schema.Struct({ n: Schema.Int }), success: Schema.String, effects: "read", execute: ({ n }) => Effect.succeed(answer(n)) })
const agent = Agent.make("worker", { tools: [Look], budget: { turns: 1_000_000, sameToolCalls: 1_000_000 } as object, defaults: { onError: Recovery.keepGoing } })
const worker = Durable.make(agent)
const model = ScriptedModel.layer(({ prompt }) => {
  const text = JSON.stringify(prompt.content.find(({ role }) => role === "user")?.content)
  const steps = Number(/steps (\d+)/.exec(text)?.[1])
  let answers = 0
  for (const { role } of prompt.content) if (role === "assistant") answers++
  if (answers * 2 < steps) return ScriptedModel.call("look", { n: answers }, { id: `c${answers}` })
  return ScriptedModel.text("done")
})
const runtime = ManagedRuntime.make(mode === "plain" ? model : Durable.layer([worker], { concurrency: 200 }).pipe(Layer.provideMerge(model), Layer.provide(RunStore.layerSql({ prefix: "bench" }).pipe(Layer.provide(NodeSqliteClient.layer({ filename: file! }))))))
const go = (id: string) => runtime.runPromise(mode === "plain" ? Effect.asVoid(agent.run("steps 20")) : Effect.asVoid(worker.run(id, "steps 20")) as any)
for (let r = 0; r < 4; r++) {
  const cpu = process.cpuUsage(), t = performance.now()
  for (let i = 0; i < Number(count); i++) await go(`r${r} ${i}`)
  const { user, system } = process.cpuUsage(cpu)
  console.log(mode, "ms a run", ((performance.now() - t) / Number(count)).toFixed(2), "cpu", ((user + system) / 1000 / Number(count)).toFixed(2))
}
process.exit(0)
